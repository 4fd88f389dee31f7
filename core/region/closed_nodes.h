// SPDX-License-Identifier: Apache-2.0
// A choice of nodes made into one that encloses its flow. Private to core/region.
#pragma once

#include "core/fusion/graph_flow.h"

#include <span>
#include <string>
#include <vector>

namespace fusescope::region {

struct ClosedNodes {
    std::vector<NodeId> nodes; // ascending, each once
    std::vector<NodeId> added; // of them, those that compute and were not chosen
};

// Adds every node on a way from one chosen node to another: views in any number, at most eight that compute. Error:
// more than that lie between; names the value that leaves and where it comes back.
[[nodiscard]] Result<ClosedNodes> closedNodes(const fusion::GraphFlow& graph, std::span<const NodeId> nodes);

// Those that compute: neither views nor checks. Ascending, each once.
[[nodiscard]] std::vector<NodeId> computingNodes(const fusion::GraphFlow& graph, std::span<const NodeId> nodes);

// The same nodes in every layer that does the same, these first; only these where there is no such layer.
[[nodiscard]] std::vector<std::vector<NodeId>> repeatsOf(const ModelGraph& model, const std::vector<NodeId>& nodes);

// The innermost module around all of them.
[[nodiscard]] ModuleId moduleAround(const ModelGraph& model, std::span<const NodeId> nodes);

} // namespace fusescope::region
