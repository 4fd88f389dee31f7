// SPDX-License-Identifier: Apache-2.0
// A pattern as transformers' Qwen3 computes it in eager mode, at given sizes, as a graph: for what is known from a
// trace alone. Private to core/region.
#pragma once

#include "core/fusion/finding.h"
#include "core/graph/op_graph.h"

namespace fusescope::region {

struct CatalogueForm {
    ModelGraph graph;
    std::vector<NodeId> nodes; // of the pattern; others tell where its inputs come from (a mask from positions alone)
};

// fused: what runs where the framework's own fused form is called (attention: SDPA).
// Errors: the sizes that the pattern needs are not known; the pattern has no such form.
[[nodiscard]] Result<CatalogueForm> catalogueForm(Pattern pattern, const Geometry& sizes, bool fused);

} // namespace fusescope::region
