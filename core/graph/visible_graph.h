// SPDX-License-Identifier: Apache-2.0
// What of a model graph is on the screen: modules collapsed or expanded, identical layers folded, plumbing hidden.
#pragma once

#include "core/graph/op_graph.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace fusescope {

struct GraphViewState {
    ModuleId focus;              // only this module's inside is shown; invalid = whole model
    std::set<ModuleId> expanded; // modules shown by their contents
    bool fold_identical = true;  // show members[0] of a fold with "x N"
    bool hide_plumbing = true;   // views, reshapes, asserts, mask and position bookkeeping drawn through
};
// The first picture: root, backbone and one decoder layer open down to its blocks (attention, mlp, norms).
[[nodiscard]] GraphViewState defaultView(const ModelGraph& graph);

enum class VisibleKind : std::uint8_t { Input, Output, Module, Op };

struct VisibleNode {
    VisibleKind kind = VisibleKind::Op;
    ModuleId module;             // Module: itself (representative of a fold); Op: its module
    NodeId node;                 // Op
    ValueId value;               // Input, Output
    std::string title, subtitle; // "self_attn", "Qwen3Attention"; "mul", ""
    std::uint32_t repeat = 1;    // fold: how many identical ones it stands for
    std::int32_t cluster = -1;   // index into VisibleGraph::clusters: the expanded module it lies in
    bool expandable = false;
};
struct VisibleCluster {
    ModuleId module;
    std::int32_t parent = -1;
    std::string title;
    std::uint32_t repeat = 1;
};
struct VisibleEdge {
    std::uint32_t from = 0, to = 0;
    ValueId value;
    std::string label;
}; // label: "1x4096x4096"
struct VisibleGraph {
    std::vector<VisibleNode> nodes;
    std::vector<VisibleCluster> clusters;
    std::vector<VisibleEdge> edges;
    std::vector<std::int32_t> node_of; // per graph node: the visible node that shows it, -1 = hidden
    std::string note;                  // what of the wish could not be shown, and why; "" = everything
};
constexpr std::size_t kMaxVisibleNodes = 300; // more is no picture: the deepest expanded modules are collapsed again
[[nodiscard]] VisibleGraph visibleGraph(const ModelGraph& graph, const GraphViewState& state);
// The visible node that shows a graph node (itself, its collapsed module, or the fold's representative); -1 if hidden.
[[nodiscard]] std::int32_t visibleNodeOf(const ModelGraph& graph, const VisibleGraph& visible, NodeId node);
// Views, reshapes, transposes, expands, asserts, detaches ...: no data moves, nothing to see.
[[nodiscard]] bool isPlumbing(std::string_view op) noexcept;

} // namespace fusescope
