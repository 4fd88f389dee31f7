// SPDX-License-Identifier: Apache-2.0
// Nodes that stand for a region, and programs made of them. Private to core/region.
#pragma once

#include "core/fusion/graph_flow.h"
#include "core/region/node_step.h"

#include <map>
#include <span>
#include <vector>

namespace fusescope::region {

struct Subgraph {
    std::vector<NodeId> nodes;    // in order; without those that compute nothing (asserts, sizes that nothing uses)
    std::vector<ValueId> outputs; // used outside, or made for nobody

    [[nodiscard]] bool has(NodeId node) const;
};

// The values that enter, in the order of their use.
[[nodiscard]] std::vector<ValueId> inputsOf(const fusion::GraphFlow& graph, const Subgraph& part);

// Errors: none left, too many, an operator that changes what enters, a value that leaves and comes back. With
// `absorb_views`, views of values that leave and come back are taken in.
[[nodiscard]] Result<Subgraph> subgraphOf(const fusion::GraphFlow& graph, std::span<const NodeId> nodes,
                                          bool absorb_views);

// A program of forms in their order. Values that no form makes become inputs: `inputs` grows in the order of use.
// fixed: it may not grow; what is missing is an error that names it.
[[nodiscard]] Result<RegionProgram> programOf(const fusion::GraphFlow& graph, std::span<const Form> forms,
                                              std::span<const ValueId> outputs, std::vector<ValueId>& inputs,
                                              bool fixed);

// The form of each node.
[[nodiscard]] Result<std::vector<Form>> formsOf(const fusion::GraphFlow& graph, std::span<const NodeId> nodes);

// Puts around a pattern's form the views and casts of its nodes: those that it reads, and those that make outputs which
// it does not make itself. False: one is neither (form.reason says which).
bool completeForm(const fusion::GraphFlow& graph, const Subgraph& part, Form& form);

} // namespace fusescope::region
