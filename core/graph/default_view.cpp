// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_graph.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr std::size_t kEnoughBoxes = 12; // a picture with fewer may open one module more

std::vector<std::uint32_t> nodesBelow(const ModelGraph& graph) {
    std::vector<std::uint32_t> count(graph.modules.modules.size(), 0);
    for (const Node& node : graph.ops.nodes) ++count[node.module.index()];
    for (std::size_t m = count.size(); m-- > 1;) count[graph.modules.modules[m].parent.index()] += count[m];
    return count;
}

} // namespace

GraphViewState defaultView(const ModelGraph& graph) {
    const ModuleTree& tree = graph.modules;
    GraphViewState view;
    if (tree.modules.empty()) return view;
    const std::vector<std::uint32_t> weight = nodesBelow(graph);
    view.expanded.insert(ModuleId(std::size_t{0}));

    // The layers: the fold that covers most of the model, outermost first.
    const FoldGroup* layers = nullptr;
    std::uint64_t most = 0;
    for (const FoldGroup& fold : tree.folds) {
        const std::uint64_t covers =
            static_cast<std::uint64_t>(weight[fold.members.front().index()]) * fold.members.size();
        if (covers > most) {
            most = covers;
            layers = &fold;
        }
        // Whatever leads to repeated layers is open, so that they are seen. Not inside a layer, though.
        bool nested = false;
        for (ModuleId m = tree.at(fold.members.front()).parent; m.valid(); m = tree.at(m).parent)
            nested = nested || tree.at(m).fold_group < tree.folds.size();
        if (nested) continue;
        for (ModuleId m = tree.at(fold.members.front()).parent; m.valid(); m = tree.at(m).parent)
            view.expanded.insert(m);
    }
    if (layers) {
        view.expanded.insert(layers->members.front());
        return view;
    }

    // No repetition: open the heaviest module until there is something to look at.
    while (visibleGraph(graph, view).nodes.size() < kEnoughBoxes) {
        ModuleId heaviest;
        for (std::size_t m = 0; m < tree.modules.size(); ++m) {
            const ModuleId id(m), parent = tree.modules[m].parent;
            if (view.expanded.count(id) || tree.modules[m].children.empty()) continue;
            if (parent.valid() && !view.expanded.count(parent)) continue;
            if (!heaviest.valid() || weight[m] > weight[heaviest.index()]) heaviest = id;
        }
        if (!heaviest.valid() || weight[heaviest.index()] == 0) break;
        view.expanded.insert(heaviest);
    }
    return view;
}

} // namespace fusescope
