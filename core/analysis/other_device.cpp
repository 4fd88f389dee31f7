// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/other_device.h"

#include "core/cost/roofline.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr double kFloorNs = 2000; // no kernel is shorter, on any of these GPUs

} // namespace

std::vector<double> timeFactors(const TraceStore& trace, const std::vector<OpCost>& costs, const DeviceSpec& measured,
                                const DeviceSpec& device) {
    const double memory =
        measured.bandwidth_Bps > 0 && device.bandwidth_Bps > 0 ? measured.bandwidth_Bps / device.bandwidth_Bps : 1;
    std::vector<double> factors(trace.kernels.size(), memory);
    for (std::size_t k = 0; k < factors.size() && k < costs.size(); ++k) {
        if (!costs[k].bytes_known && !costs[k].flops_known) continue;
        factors[k] =
            std::max(kFloorNs, rooflineNs(costs[k], device)) / std::max(kFloorNs, rooflineNs(costs[k], measured));
    }
    return factors;
}

double scaledStepNs(const TraceStore& trace, const std::vector<double>& factors, std::int16_t step, double wall_ns,
                    double busy_ns) {
    double now = 0, scaled = 0;
    for (std::size_t k = 0; k < trace.kernels.size() && k < factors.size(); ++k) {
        const std::size_t slice = trace.kernels.slice[k].index();
        if (step >= 0 && trace.slices.step[slice] != step) continue;
        const auto ns = static_cast<double>(trace.slices.dur[slice]);
        now += ns;
        scaled += ns * factors[k];
    }
    return now > 0 ? wall_ns + busy_ns * (scaled / now - 1) : wall_ns;
}

} // namespace fusescope
