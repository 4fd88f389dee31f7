// SPDX-License-Identifier: Apache-2.0
#include "core/link/cpu_context.h"

#include "core/link/op_names.h"

#include <string_view>

namespace fusescope {
namespace {

// What a name means is looked up once per distinct name, not once per row.
enum class NameClass : std::uint8_t { Unseen, Plain, EngineRow, CompiledWrapper, ModuleFrame, Rope, FirstPhase };

class NameClasses {
public:
    explicit NameClasses(const TraceStore& trace) : trace_(trace), classes_(trace.strings.size(), NameClass::Unseen) {}

    NameClass of(StringId name, Category category) {
        if (!name.valid() || name.index() >= classes_.size()) return NameClass::Plain;
        NameClass& known = classes_[name.index()];
        if (known == NameClass::Unseen) known = classify(trace_.strings.view(name), category);
        return known;
    }
    static Phase phaseOf(NameClass c) {
        if (c < NameClass::FirstPhase) return Phase::Unknown;
        return static_cast<Phase>(static_cast<int>(c) - static_cast<int>(NameClass::FirstPhase));
    }

private:
    static NameClass withPhase(Phase phase) {
        if (phase == Phase::Unknown) return NameClass::Plain;
        return static_cast<NameClass>(static_cast<int>(NameClass::FirstPhase) + static_cast<int>(phase));
    }
    static NameClass classify(std::string_view name, Category category) {
        if (category == Category::PythonFunction) {
            if (!moduleFrameName(name).empty()) return NameClass::ModuleFrame;
            if (isRopePython(name)) return NameClass::Rope;
            return withPhase(phaseOfPython(name));
        }
        if (category == Category::UserAnnotation) return withPhase(phaseOfAnnotation(name));
        if (isEngineRow(name)) return NameClass::EngineRow;
        if (isCompiledWrapper(name)) return NameClass::CompiledWrapper;
        return NameClass::Plain;
    }

    const TraceStore& trace_;
    std::vector<NameClass> classes_;
};

bool isCpuRow(Category c) {
    return c == Category::CpuOp || c == Category::UserAnnotation || c == Category::PythonFunction ||
           c == Category::CudaRuntime || c == Category::CudaDriver || c == Category::Other;
}

void enterOp(CpuContext& context, CpuOpId op, bool autograd_node, bool wrapper) {
    context.op = op;
    if (autograd_node) {
        context.node = op;
        context.top_op = {};
        context.frame_in_node = false;
    } else if (!wrapper && !context.top_op.valid()) {
        context.top_op = op;
    }
}

void enterFrame(CpuContext& context, SliceId slice) {
    // A module whose __call__ wraps itself (gradient checkpointing layers) may be recorded twice: still one frame.
    context.frame = slice;
    if (!context.root_frame.valid() || (context.node.valid() && !context.frame_in_node)) context.root_frame = slice;
    context.frame_in_node = context.node.valid();
    context.top_op = {};
}

} // namespace

CpuContexts cpuContexts(const TraceStore& trace, Progress& progress) {
    const SliceTable& slices = trace.slices;
    CpuContexts out;
    out.of_slice.assign(slices.size(), 0);
    out.all.emplace_back();
    NameClasses names(trace);

    for (std::size_t i = 0; i < slices.size(); ++i) {
        if ((i & 0xFFFF) == 0) {
            progress.advance(i);
            if (progress.cancelled()) break;
        }
        const Category category = slices.category[i];
        if (!isCpuRow(category)) continue;
        const SliceId parent = slices.parent[i];
        const std::uint32_t around = parent.valid() && parent.index() < i ? out.of_slice[parent.index()] : 0;
        out.of_slice[i] = around;

        const SliceId slice(i);
        if (category == Category::CpuOp) {
            const std::uint32_t row = slices.detail[i];
            if (row >= trace.cpu_ops.size()) continue;
            const NameClass c = names.of(slices.name[i], category);
            CpuContext context = out.all[around];
            const bool node = trace.cpu_ops.fwd_thread[row] > 0 || c == NameClass::EngineRow;
            enterOp(context, CpuOpId(row), node, c == NameClass::CompiledWrapper);
            out.of_slice[i] = static_cast<std::uint32_t>(out.all.size());
            out.all.push_back(context);
        } else if (category == Category::PythonFunction || category == Category::UserAnnotation) {
            const NameClass c = names.of(slices.name[i], category);
            if (c == NameClass::Plain) continue;
            CpuContext context = out.all[around];
            if (c == NameClass::ModuleFrame) {
                out.has_frames = true;
                if (context.frame.valid() && slices.name[context.frame.index()] == slices.name[i]) continue;
                enterFrame(context, slice);
            } else if (c == NameClass::Rope) {
                context.rope = true;
            } else {
                context.phase = NameClasses::phaseOf(c);
            }
            out.of_slice[i] = static_cast<std::uint32_t>(out.all.size());
            out.all.push_back(context);
        }
    }
    return out;
}

} // namespace fusescope
