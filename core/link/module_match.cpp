// SPDX-License-Identifier: Apache-2.0
// Trees are laid over each other from a pair of modules of one class; below it, the n-th child of a class in the trace
// is the n-th child of that class in the graph, both in order of first execution. The graph may have wrappers that the
// trace lacks (an export wrapper) or the reverse (DataParallel), so several starting pairs are tried and the best one
// is kept.
#include "core/link/module_match.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fusescope {
namespace {

// Containers are never called, so a trace does not show them.
bool isContainer(const Module& module) {
    return module.type.empty() || module.type == "ModuleList" || module.type == "ModuleDict" ||
           module.type == "ParameterList";
}

void calledChildren(const ModuleTree& tree, ModuleId id, std::vector<ModuleId>& out) {
    std::vector<ModuleId> open(tree.at(id).children.rbegin(), tree.at(id).children.rend());
    while (!open.empty()) {
        const ModuleId child = open.back();
        open.pop_back();
        if (isContainer(tree.at(child)))
            open.insert(open.end(), tree.at(child).children.rbegin(), tree.at(child).children.rend());
        else
            out.push_back(child);
    }
}

using Pairs = std::vector<std::pair<ModuleId, ModuleId>>; // trace, graph

Pairs overlay(const ModuleTree& trace, const ModuleTree& graph, ModuleId t0, ModuleId g0) {
    Pairs pairs{{t0, g0}};
    std::vector<ModuleId> children;
    for (std::size_t next = 0; next < pairs.size(); ++next) {
        const auto [t, g] = pairs[next];
        children.clear();
        calledChildren(graph, g, children);
        std::map<std::string_view, std::vector<ModuleId>> by_class;
        for (const ModuleId child : children) by_class[graph.at(child).type].push_back(child);
        std::map<std::string_view, std::size_t> used;
        for (const ModuleId child : trace.at(t).children) {
            const auto found = by_class.find(trace.at(child).type);
            if (found == by_class.end()) continue;
            std::size_t& n = used[trace.at(child).type];
            if (n < found->second.size()) pairs.emplace_back(child, found->second[n++]);
        }
    }
    return pairs;
}

std::vector<std::uint32_t> depths(const ModuleTree& tree) {
    std::vector<std::uint32_t> depth(tree.modules.size(), 0);
    for (std::size_t m = 1; m < tree.modules.size(); ++m)
        if (tree.modules[m].parent.valid()) depth[m] = depth[tree.modules[m].parent.index()] + 1;
    return depth;
}

Pairs bestOverlay(const ModuleTree& trace, const ModuleTree& graph) {
    constexpr std::size_t kTries = 64;
    std::map<std::string_view, std::vector<ModuleId>> by_class;
    for (std::size_t m = 0; m < graph.modules.size(); ++m)
        if (!isContainer(graph.modules[m])) by_class[graph.modules[m].type].push_back(ModuleId(m));

    const std::vector<std::uint32_t> trace_depth = depths(trace), graph_depth = depths(graph);
    struct Start {
        std::uint32_t depth;
        ModuleId t, g;
    };
    std::vector<Start> starts;
    for (std::size_t m = 1; m < trace.modules.size(); ++m) {
        const auto found = by_class.find(trace.modules[m].type);
        if (found == by_class.end()) continue;
        // The n-th of a class may be anywhere: the first and the shallowest of the graph are enough to try.
        for (std::size_t i = 0; i < std::min<std::size_t>(found->second.size(), 4); ++i) {
            const ModuleId g = found->second[i];
            starts.push_back({trace_depth[m] + graph_depth[g.index()], ModuleId(m), g});
        }
        if (starts.size() > 65536) break;
    }
    std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.depth < b.depth; });
    Pairs best;
    for (std::size_t i = 0; i < std::min(starts.size(), kTries); ++i) {
        Pairs pairs = overlay(trace, graph, starts[i].t, starts[i].g);
        if (pairs.size() > best.size()) best = std::move(pairs);
    }
    return best;
}

} // namespace

std::vector<ModuleId> matchModules(const ModuleTree& trace, const ModuleTree& graph) {
    std::vector<ModuleId> matched(trace.modules.size());
    if (trace.modules.empty() || graph.modules.empty()) return matched;
    std::unordered_map<std::string_view, ModuleId> by_name; // a frame name is one Python object wherever it is called
    for (const auto& [t, g] : bestOverlay(trace, graph)) {
        matched[t.index()] = g;
        by_name.emplace(trace.at(t).name, g);
    }
    for (std::size_t m = 1; m < trace.modules.size(); ++m) {
        if (matched[m].valid()) continue;
        const auto found = by_name.find(trace.modules[m].name);
        if (found != by_name.end()) matched[m] = found->second;
    }
    return matched;
}

ModuleTree mergeModules(const ModuleTree& trace, const ModuleTree& graph, std::vector<ModuleId>& matched) {
    ModuleTree merged = graph;
    if (merged.modules.empty()) merged.modules.emplace_back();
    matched.resize(trace.modules.size());
    if (!matched.empty() && !matched[0].valid()) matched[0] = ModuleId(std::size_t{0});
    for (std::size_t m = 1; m < trace.modules.size(); ++m) { // parents come first
        if (matched[m].valid()) continue;
        Module module = trace.modules[m];
        const ModuleId parent = matched[module.parent.index()];
        const std::string& above = merged.at(parent).path;
        if (!above.empty())
            module.path = above + "." + module.name;
        else
            module.path = module.name;
        module.parent = parent;
        module.children.clear();
        module.fold_group = Id<struct FoldTag>::kNone;
        module.declared = static_cast<std::uint32_t>(merged.modules.size());
        matched[m] = ModuleId(merged.modules.size());
        merged.modules[parent.index()].children.push_back(matched[m]);
        merged.modules.push_back(std::move(module));
    }
    return merged;
}

} // namespace fusescope
