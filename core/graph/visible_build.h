// SPDX-License-Identifier: Apache-2.0
// The steps that turn a view state into a visible graph. Private to core/graph.
#pragma once

#include "core/graph/module_text.h"
#include "core/graph/visible_graph.h"

#include <string>
#include <vector>

namespace fusescope {

// What every graph node becomes in the picture.
enum class Fate : std::uint8_t {
    Outside, // not below the focus
    Shown,   // as an operator, in its module's box, or in a group
    Through, // plumbing: edges pass
    Folded,  // belongs to a layer that another one represents
};

struct VisibleBuild {
    VisibleBuild(const ModelGraph& graph, const GraphViewState& state);

    const ModelGraph& graph;
    const OpGraph& ops;
    const ModuleTree& tree;
    GraphViewState state;
    ModuleId focus;
    ModuleTexts texts;

    std::vector<NodeId> representative; // per node: itself, or its twin in the layer that stands for its own
    std::vector<bool> active_fold;      // per fold: shown as one box
    std::vector<bool> hidden_module;    // lies in a layer that another one represents
    std::vector<bool> fixed;            // per node: staticNodes()
    std::vector<bool> fixed_module;     // per module: all its nodes are
    std::vector<ModuleId> closed_at;    // per module below the focus: the collapsed one that shows it; invalid = open
    std::vector<bool> inside;           // per module: below the focus
    std::vector<Fate> fate;
    DType main_dtype = DType::Unknown; // most weights have it: labels leave it out

    VisibleGraph out;

    void mapFolds();
    void openModules();
    void decideFates();
    void makeNodes(std::size_t section); // section: operators per box where one module holds too many; 0 = each alone
    void makeClusters();
    void makeEdges();

    // The twin of a value in the representing layer.
    [[nodiscard]] ValueId represented(ValueId value) const;
    // Where the data comes from: up through the plumbing.
    [[nodiscard]] ValueId rootOf(ValueId value) const;
    [[nodiscard]] bool isFoldedModule(ModuleId module) const; // stands for others, too
};

// Texts of boxes and edges (visible_text.cpp).
[[nodiscard]] std::string shapeText(const TensorMeta& meta, DType main_dtype);
[[nodiscard]] std::string moduleTitle(const ModuleTree& tree, ModuleId module, bool folded);
[[nodiscard]] std::string operatorTitle(const OpGraph& ops, NodeId node);
[[nodiscard]] std::string operatorSubtitle(const ModelGraph& graph, NodeId node);
// A short name for where a value comes from or goes to, seen from the focus: "rotary_emb", "layers 1".
[[nodiscard]] std::string neighbourTitle(const VisibleBuild& build, NodeId node);

} // namespace fusescope
