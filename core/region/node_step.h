// SPDX-License-Identifier: Apache-2.0
// One node of a graph as a step. Private to core/region.
//
// Until a program is put together, steps refer to values of the graph: RegionRef{-1, value id}. A Form is a few steps
// that stand for a node, or for the nodes of a pattern; in it RegionRef{i, output} is a value of its step i.
#pragma once

#include "core/base/result.h"
#include "core/graph/op_graph.h"
#include "core/region/program.h"

#include <string>
#include <utility>
#include <vector>

namespace fusescope::region {

struct Form {
    std::vector<RegionStep> steps;
    std::vector<std::pair<ValueId, RegionRef>> makes; // which values of the graph it makes
    std::string reason;                               // why there are no steps
};

[[nodiscard]] inline RegionRef refTo(ValueId value) { return {-1, value.value}; }

// Errors: a size known only as a symbol, an argument or an operator that has no form in a step.
[[nodiscard]] Result<Form> formOfNode(const OpGraph& graph, NodeId id);

// A text as the graph holds it: "[-1]", "1e-06", "torch.float32", "True".
[[nodiscard]] Result<RegionArgValue> valueOfText(std::string_view text, ArgKind kind);

} // namespace fusescope::region
