// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/step_ops.h"

#include "core/trace/op_args.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

bool startsWith(std::string_view text, std::string_view part) { return text.substr(0, part.size()) == part; }

bool isEngineRow(std::string_view name) {
    return startsWith(name, "autograd::engine::evaluate_function: ") || startsWith(name, "torch::autograd::");
}

// Rows around whole compiled graphs: what they call is of interest, not they.
bool isWrapper(std::string_view name) {
    return startsWith(name, "CompiledFunction") || startsWith(name, "Torch-Compiled Region") ||
           startsWith(name, "## Call CompiledFxGraph") || startsWith(name, "TorchDynamo");
}

// State of the walk down one CPU row.
struct Place {
    std::uint32_t row = StepOps::kNone; // operator around
    bool backward = false;              // inside an autograd node, and not in a module called from it
    bool recomputed = false;
};

enum class NameKind : std::uint8_t { Unseen, Plain, Engine, Wrapper, Frame };

NameKind kindOfName(std::string_view name, Category category) {
    if (category == Category::PythonFunction)
        return startsWith(name, "nn.Module: ") ? NameKind::Frame : NameKind::Plain;
    if (isEngineRow(name)) return NameKind::Engine;
    return isWrapper(name) ? NameKind::Wrapper : NameKind::Plain;
}

} // namespace

StepOps::StepOps(const TraceStore& trace, const Link& link, std::int16_t step)
    : trace_(trace), link_(link), step_(step) {
    addOps();
    for (std::size_t i = 0; i < ops.size(); ++i)
        if (!ops[i].kernels.empty()) work.push_back(static_cast<std::uint32_t>(i));
    if (work.empty()) {
        addKernels();
        // A profile without GPU rows: operators that compute stand for themselves.
        const bool cpu_only = work.empty() && trace.kernels.size() == 0;
        for (std::size_t i = 0; cpu_only && i < ops.size(); ++i)
            if (ops[i].code != OpCode::View && ops[i].code != OpCode::Ignored && ops[i].code != OpCode::Slice)
                work.push_back(static_cast<std::uint32_t>(i));
    }
}

bool StepOps::inStep(SliceId slice) const { return step_ < 0 || trace_.slices.step[slice.index()] == step_; }

void StepOps::addOps() {
    const SliceTable& slices = trace_.slices;
    row_of_op_.assign(trace_.cpu_ops.size(), kNone);
    std::vector<NameKind> kinds(trace_.strings.size(), NameKind::Unseen);
    std::vector<Place> places(slices.size());
    for (std::size_t i = 0; i < slices.size(); ++i) {
        const Category category = slices.category[i];
        if (category != Category::CpuOp && category != Category::PythonFunction &&
            category != Category::UserAnnotation && category != Category::CudaRuntime &&
            category != Category::CudaDriver)
            continue;
        const SliceId parent = slices.parent[i];
        if (parent.valid() && parent.index() < i) places[i] = places[parent.index()];
        if (category != Category::CpuOp && category != Category::PythonFunction) continue;
        if (!slices.name[i].valid() || slices.name[i].index() >= kinds.size()) continue;

        NameKind& kind = kinds[slices.name[i].index()];
        const std::string_view name = trace_.nameOf(SliceId(i));
        if (kind == NameKind::Unseen) kind = kindOfName(name, category);
        Place& place = places[i];
        if (category == Category::PythonFunction) {
            if (kind != NameKind::Frame) continue;
            place.recomputed = place.recomputed || place.backward;
            place.backward = false;
            place.row = kNone;
            continue;
        }
        const std::uint32_t cpu_op = slices.detail[i];
        if (cpu_op >= trace_.cpu_ops.size()) continue;
        if (kind == NameKind::Engine || trace_.cpu_ops.fwd_thread[cpu_op] > 0) {
            place = Place{kNone, true, false};
        } else if (place.row == kNone && !place.backward && kind != NameKind::Wrapper && inStep(SliceId(i))) {
            StepOp op;
            op.id = CpuOpId(cpu_op);
            op.slice = SliceId(i);
            op.code = opCodeOf(name);
            op.recomputed = place.recomputed;
            place.row = static_cast<std::uint32_t>(ops.size());
            ops.push_back(std::move(op));
        }
        row_of_op_[cpu_op] = place.row;
    }

    // Operators of several threads are interleaved by time; a pattern never spans threads.
    if (!ops.empty()) {
        std::vector<std::uint32_t> order(ops.size());
        for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
        std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
            return slices.track[ops[a].slice.index()] < slices.track[ops[b].slice.index()];
        });
        std::vector<std::uint32_t> now(ops.size());
        std::vector<StepOp> sorted;
        sorted.reserve(ops.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            now[order[i]] = static_cast<std::uint32_t>(i);
            sorted.push_back(std::move(ops[order[i]]));
        }
        ops = std::move(sorted);
        for (std::uint32_t& row : row_of_op_)
            if (row != kNone) row = now[row];
    }

    for (std::size_t k = 0; k < trace_.kernels.size(); ++k) {
        const CpuOpId inner = k < link_.kernels.size() ? link_.kernels[k].op : CpuOpId{};
        if (!inner.valid() || inner.index() >= row_of_op_.size()) continue;
        const std::uint32_t row = row_of_op_[inner.index()];
        if (row == kNone || !inStep(trace_.kernels.slice[k])) continue;
        if (ops[row].kernels.empty()) ops[row].module = link_.kernels[k].module;
        ops[row].kernels.push_back(KernelId(k));
    }
    for (StepOp& op : ops)
        if (!op.kernels.empty() || trace_.kernels.size() == 0) op.args = parseOpArgs(trace_, op.id);
}

void StepOps::addKernels() {
    for (std::size_t k = 0; k < trace_.kernels.size(); ++k) {
        const SliceId slice = trace_.kernels.slice[k];
        const WorkLink* linked = k < link_.kernels.size() ? &link_.kernels[k] : nullptr;
        if (!inStep(slice) || (linked != nullptr && linked->op.valid())) continue;
        StepOp op;
        op.slice = slice;
        op.code = opCodeOfKernel(trace_.nameOf(slice));
        op.kernels.push_back(KernelId(k));
        if (linked != nullptr) op.module = linked->module;
        work.push_back(static_cast<std::uint32_t>(ops.size()));
        ops.push_back(std::move(op));
        by_kernel_name = true;
    }
    // Kernels of several streams run at once; a pattern's kernels follow each other on one.
    std::stable_sort(work.begin(), work.end(), [&](std::uint32_t a, std::uint32_t b) {
        return trace_.slices.track[ops[a].slice.index()] < trace_.slices.track[ops[b].slice.index()];
    });
}

std::uint32_t StepOps::rowOf(SliceId slice) const {
    for (int guard = 0; slice.valid() && guard < 4096; ++guard) {
        if (trace_.slices.category[slice.index()] == Category::CpuOp) {
            const std::uint32_t cpu_op = trace_.slices.detail[slice.index()];
            return cpu_op < row_of_op_.size() ? row_of_op_[cpu_op] : kNone;
        }
        slice = trace_.slices.parent[slice.index()];
    }
    return kNone;
}

std::string StepOps::describe(const StepOp& op) const {
    std::string text(nameOf(op));
    if (op.module.valid() && op.module.index() < link_.modules.modules.size())
        text += " in " + link_.modules.at(op.module).path;
    return text;
}

const TensorMeta* tensorArg(const StepOp& op, std::size_t i) noexcept {
    return i < op.args.size() && op.args[i].kind == ArgKind::Tensor ? &op.args[i].tensor : nullptr;
}

bool mayBeScalarOp(const StepOp& op) noexcept {
    if (op.args.empty()) return true;
    const TensorMeta* second = tensorArg(op, 1);
    // A number is recorded as a tensor without sizes.
    return second == nullptr || second->sizes.empty();
}

bool mayBeTensorOp(const StepOp& op) noexcept {
    if (op.args.empty()) return true;
    const TensorMeta* second = tensorArg(op, 1);
    return second != nullptr && !second->sizes.empty();
}

void takeOne(const StepOps& trace, std::size_t position, Match& match) {
    if (position >= trace.work.size()) return;
    const std::uint32_t row = trace.work[position];
    match.ops.push_back(row);
    match.kernels.insert(match.kernels.end(), trace.ops[row].kernels.begin(), trace.ops[row].kernels.end());
}

void take(const StepOps& trace, std::size_t first, std::size_t last, Match& match) {
    if (first > last || last >= trace.work.size()) return;
    for (std::size_t i = first; i <= last; ++i) takeOne(trace, i, match);
    if (trace.by_kernel_name) return;
    // Views between them have no kernels of their own, but their backward has.
    for (std::uint32_t row = trace.work[first]; row < trace.work[last]; ++row)
        if (trace.ops[row].kernels.empty()) match.ops.push_back(row);
    std::sort(match.ops.begin(), match.ops.end());
}

} // namespace fusescope::fusion
