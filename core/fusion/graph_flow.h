// SPDX-License-Identifier: Apache-2.0
// Walking the operator graph by data flow: through views, never past a change of what a matcher asked for.
// Shared with core/region, else private to core/fusion.
#pragma once

#include "core/fusion/match.h"
#include "core/fusion/op_code.h"
#include "core/graph/op_graph.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope::fusion {

class GraphFlow {
public:
    explicit GraphFlow(const ModelGraph& graph);

    [[nodiscard]] const OpGraph& ops() const { return graph_.ops; }
    [[nodiscard]] const ModelGraph& model() const { return graph_; }
    [[nodiscard]] std::size_t size() const { return codes_.size(); }
    // Casts to the type a value has already and dropout in evaluation count as View.
    [[nodiscard]] OpCode code(NodeId node) const { return node.valid() ? codes_[node.index()] : OpCode::Other; }
    [[nodiscard]] const TensorMeta& meta(ValueId value) const { return graph_.ops.at(value).meta; }
    // Node that makes a value, invalid for inputs and parameters.
    [[nodiscard]] NodeId producer(ValueId value) const;
    // The value behind views ("%view" -> "%linear").
    [[nodiscard]] ValueId base(ValueId value) const;
    // The same, noting the views passed, nearest first.
    [[nodiscard]] ValueId base(ValueId value, std::vector<NodeId>& passed) const;
    // producer(base(value)).
    [[nodiscard]] NodeId maker(ValueId value) const { return producer(base(value)); }
    [[nodiscard]] ValueId in(NodeId node, std::size_t i) const { return graph_.ops.operand(node, i); }
    [[nodiscard]] ValueId out(NodeId node) const { return graph_.ops.output(node); }
    // Who computes with a value: views are followed to their users, asserts left out; sorted, each once.
    [[nodiscard]] std::vector<NodeId> users(ValueId value) const;
    // The one user, invalid if there are none or several.
    [[nodiscard]] NodeId onlyUser(ValueId value) const;
    // A value, or a view of it, leaves the graph.
    [[nodiscard]] bool leavesGraph(ValueId value) const;
    // A number among the node's arguments: by schema name, else the first numeric one after the tensors.
    [[nodiscard]] std::optional<double> scalar(NodeId node, std::string_view argument) const;
    // Weight, buffer or constant, perhaps behind views and casts.
    [[nodiscard]] bool isWeight(ValueId value) const;
    [[nodiscard]] std::string name(NodeId node) const { return std::string(graph_.ops.name(node)); }

    // Why the results of `inner` may not vanish into one kernel whose nodes are `all`: "" if they may.
    [[nodiscard]] std::string leak(const std::vector<NodeId>& inner, const std::vector<NodeId>& all) const;

private:
    [[nodiscard]] std::vector<NodeId> consumersOnce(ValueId value) const;

    const ModelGraph& graph_;
    std::vector<OpCode> codes_;
    std::vector<ValueId> bases_; // per value
};

[[nodiscard]] double elements(const TensorMeta& meta) noexcept; // 0 when dynamic
[[nodiscard]] bool sameSizes(const TensorMeta& a, const TensorMeta& b) noexcept;
[[nodiscard]] double lastSize(const TensorMeta& meta) noexcept;
[[nodiscard]] std::optional<double>
numberIn(std::string_view text) noexcept; // "1e-06", "[-1]" -> -1; none: not one number
void sortNodes(std::vector<NodeId>& nodes);

} // namespace fusescope::fusion
