// SPDX-License-Identifier: Apache-2.0
// From nodes and fused forms to a region. Private to core/region.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/fills.h"

namespace fusescope::region {

// Baseline: the nodes. Fused: `fused` in its order, or nothing where it is empty; a form that needs what does not enter
// becomes the region's reason. Names are left to the caller.
[[nodiscard]] Result<Region> assemble(const fusion::GraphFlow& graph, const Fills& fills, const Subgraph& part,
                                      std::span<const Form> fused);

// Measures the forward alone where there is a reason to.
void forwardWhere(Region& region, const std::string& why);

// Whether the trace has a backward pass at all; without a trace, the graph tells.
[[nodiscard]] bool stepTrains(const Analysis& analysis);

} // namespace fusescope::region
