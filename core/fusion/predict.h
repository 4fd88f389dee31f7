// SPDX-License-Identifier: Apache-2.0
// How long the fused form of an instance would take, as a range. Shared with core/region, else private to core/fusion.
#pragma once

#include "core/fusion/instances.h"
#include "core/fusion/traffic.h"

namespace fusescope::fusion {

// Fills Instance::fused, fused_kernels, predicted_ns and saving_ns. input.trace may be null: then times are estimates.
void predict(const FusionInput& input, Draft& draft);

// A kernel of this cost when nothing was measured: roofline at a usual share of the bandwidth, never below a launch's
// floor.
[[nodiscard]] double estimatedKernelNs(const OpCost& cost, const DeviceSpec& device) noexcept;

} // namespace fusescope::fusion
