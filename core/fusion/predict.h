// SPDX-License-Identifier: Apache-2.0
// How long the fused form of an instance would take, as a range. Shared with core/region, else private to core/fusion.
#pragma once

#include "core/fusion/instances.h"
#include "core/fusion/traffic.h"

namespace fusescope::fusion {

// Shortest time of any kernel on the GPU: start, one wave, end. That of small fused norms.
constexpr double kKernelFloorNs = 2000;
// Whether the pattern's kernels read and write memory and compute little beside it.
[[nodiscard]] bool movesMemoryAlone(Pattern pattern) noexcept;

// Fills Instance::fused, fused_kernels, predicted_ns and saving_ns. input.trace may be null: then times are estimates.
void predict(const FusionInput& input, Draft& draft);

// A kernel of this cost when nothing was measured: roofline at a usual share of the bandwidth, never below a launch's
// floor.
[[nodiscard]] double estimatedKernelNs(const OpCost& cost, const DeviceSpec& device) noexcept;

} // namespace fusescope::fusion
