// SPDX-License-Identifier: Apache-2.0
// A trace of one GPU, looked at for another: a time measured there is no time of here, so measured times are scaled
// before anything is predicted from them.
#pragma once

#include "core/cost/cost.h"
#include "core/cost/device.h"
#include "core/trace/trace_store.h"

#include <vector>

namespace fusescope {

// Parallel to trace.kernels: roofline time on `device` / roofline time on `measured`. A kernel whose FLOPs and bytes
// are not known is taken to be bound by memory.
[[nodiscard]] std::vector<double> timeFactors(const TraceStore& trace, const std::vector<OpCost>& costs,
                                              const DeviceSpec& measured, const DeviceSpec& device);
// Length of a step on the other GPU: its idle time as measured, its busy time by the mean factor of its kernels.
// step -1: the whole trace.
[[nodiscard]] double scaledStepNs(const TraceStore& trace, const std::vector<double>& factors, std::int16_t step,
                                  double wall_ns, double busy_ns);

} // namespace fusescope
