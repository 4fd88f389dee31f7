// SPDX-License-Identifier: Apache-2.0
// A module is its frame's name (class + instance number) under its parent. Frames without a parent whose name is known
// below another module (a layer run again by checkpointing, on the backward thread) are that module, not a new root.
#include "core/link/trace_modules.h"

#include "core/link/op_names.h"

#include <algorithm>
#include <map>
#include <string>

namespace fusescope {
namespace {

constexpr std::size_t kMaxModules = std::size_t{1} << 17; // hostile input: further ones count as their parent
constexpr std::size_t kMaxPath = 1024;

class Builder {
public:
    Builder(const TraceStore& trace, const CpuContexts& contexts) : trace_(trace), contexts_(contexts) {
        out_.tree.modules.emplace_back();
    }

    TraceModules build() {
        std::vector<SliceId> frames, orphans;
        for (std::size_t i = 0; i < trace_.slices.size(); ++i)
            if (trace_.slices.category[i] == Category::PythonFunction && contexts_.of(SliceId(i)).frame == SliceId(i))
                frames.push_back(SliceId(i));
        for (const SliceId frame : frames)
            if (parentFrame(frame).valid()) nested_.emplace(trace_.slices.name[frame.index()].value, ModuleId{});

        for (const SliceId frame : frames) {
            const SliceId parent = parentFrame(frame);
            if (parent.valid()) {
                const auto known = out_.of_frame.find(parent.value);
                if (known != out_.of_frame.end())
                    place(frame, known->second);
                else
                    orphans.push_back(frame);
            } else if (nested_.count(trace_.slices.name[frame.index()].value) != 0) {
                orphans.push_back(frame); // until its usual parent is known
            } else {
                place(frame, ModuleId(std::size_t{0}));
            }
        }
        for (const SliceId frame : orphans) {
            const SliceId parent = parentFrame(frame);
            const auto known = parent.valid() ? out_.of_frame.find(parent.value) : out_.of_frame.end();
            const ModuleId usual = nested_[trace_.slices.name[frame.index()].value];
            if (known != out_.of_frame.end())
                place(frame, known->second);
            else if (usual.valid())
                out_.of_frame.emplace(frame.value, usual);
            else
                place(frame, ModuleId(std::size_t{0}));
        }
        for (const SliceId frame : frames) {
            const auto known = out_.of_frame.find(frame.value);
            if (known != out_.of_frame.end())
                out_.calls.push_back({frame, known->second, trace_.slices.step[frame.index()]});
        }
        return std::move(out_);
    }

private:
    [[nodiscard]] SliceId parentFrame(SliceId frame) const {
        const SliceId parent = trace_.slices.parent[frame.index()];
        return parent.valid() ? contexts_.of(parent).frame : SliceId{};
    }

    void place(SliceId frame, ModuleId parent) {
        const StringId name = trace_.slices.name[frame.index()];
        const auto [at, fresh] = children_.try_emplace({parent.value, name.value});
        if (fresh) at->second = make(name, parent);
        out_.of_frame.emplace(frame.value, at->second);
        if (parent.index() != 0) {
            const auto nested = nested_.find(name.value);
            if (nested != nested_.end() && !nested->second.valid()) nested->second = at->second;
        }
    }

    ModuleId make(StringId name, ModuleId parent) {
        std::vector<Module>& modules = out_.tree.modules;
        if (modules.size() >= kMaxModules) return parent;
        const std::string_view text = moduleFrameName(trace_.strings.view(name));
        const std::string& above = modules[parent.index()].path;
        if (above.size() + text.size() > kMaxPath) return parent;
        Module module;
        module.name = text;
        module.type = moduleClass(text);
        module.path = above.empty() ? module.name : above + "/" + module.name;
        module.parent = parent;
        module.declared = static_cast<std::uint32_t>(modules.size());
        const ModuleId id(modules.size());
        modules.push_back(std::move(module));
        modules[parent.index()].children.push_back(id);
        return id;
    }

    const TraceStore& trace_;
    const CpuContexts& contexts_;
    TraceModules out_;
    std::map<std::pair<std::uint32_t, std::uint32_t>, ModuleId> children_; // (parent, name)
    std::unordered_map<std::uint32_t, ModuleId> nested_; // names seen below a module -> the first such module
};

// Siblings of one class with the same classes below: "36 x Qwen3DecoderLayer".
void fold(ModuleTree& tree) {
    std::vector<std::uint32_t> shape(tree.modules.size());
    std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> shapes;
    for (std::size_t m = tree.modules.size(); m-- > 0;) {
        std::vector<std::uint32_t> below;
        for (const ModuleId child : tree.modules[m].children) below.push_back(shape[child.index()]);
        shape[m] =
            shapes.try_emplace({tree.modules[m].type, std::move(below)}, static_cast<std::uint32_t>(shapes.size()))
                .first->second;
    }
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        std::map<std::uint32_t, std::vector<ModuleId>> groups;
        for (const ModuleId child : tree.modules[m].children)
            if (!tree.at(child).children.empty()) groups[shape[child.index()]].push_back(child);
        for (auto& [key, members] : groups) {
            if (members.size() < 2) continue;
            for (const ModuleId member : members)
                tree.modules[member.index()].fold_group = static_cast<std::uint32_t>(tree.folds.size());
            tree.folds.push_back({std::move(members)});
        }
    }
}

} // namespace

TraceModules traceModules(const TraceStore& trace, const CpuContexts& contexts) {
    TraceModules modules = Builder(trace, contexts).build();
    fold(modules.tree);
    return modules;
}

} // namespace fusescope
