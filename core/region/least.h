// SPDX-License-Identifier: Apache-2.0
// What one kernel of a part must move and compute, however well it is written. Private to core/region.
#pragma once

#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/region/fills.h"

namespace fusescope::region {

// Forward: what enters and what leaves, once.
[[nodiscard]] OpCost leastCost(const fusion::GraphFlow& graph, const Subgraph& part);

// Backward, of elementwise operators and row reductions: reads the gradients of what leaves, and of what enters all
// that the operators' derivatives need (values in between are computed anew from it); writes a gradient for each value
// that enters and wants one, but for those that one passes to unchanged (the terms of a sum). Only bytes are known; 0
// of them where no gradient flows, or nothing is computed.
[[nodiscard]] OpCost leastBackwardCost(const fusion::GraphFlow& graph, const Fills& fills, const Subgraph& part);

// How long that takes at the speed of a copy and the peak of the arithmetic, ns; 0: not known.
[[nodiscard]] double limitNs(const OpCost& cost, const DeviceSpec& device);

} // namespace fusescope::region
