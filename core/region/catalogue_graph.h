// SPDX-License-Identifier: Apache-2.0
// A pattern as transformers' Qwen3 computes it in eager mode, at given sizes, as a graph: for what is known from a
// trace alone. Private to core/region.
#pragma once

#include "core/fusion/finding.h"
#include "core/graph/op_graph.h"

namespace fusescope::region {

// Errors: the sizes that the pattern needs are not known; the pattern has no such form.
[[nodiscard]] Result<ModelGraph> catalogueGraph(Pattern pattern, const Geometry& sizes);

} // namespace fusescope::region
