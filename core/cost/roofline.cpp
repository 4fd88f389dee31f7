// SPDX-License-Identifier: Apache-2.0
#include "core/cost/roofline.h"

#include <algorithm>

namespace fusescope {
namespace {

struct Times {
    double memory_ns = 0, compute_ns = 0;
};

Times timesOf(const OpCost& cost, const DeviceSpec& device) noexcept {
    Times times;
    if (cost.bytes_known && device.bandwidth_Bps > 0) times.memory_ns = cost.bytes() / device.bandwidth_Bps * 1e9;
    if (cost.flops_known) {
        const double tensor_peak = device.peak(cost.dtype, true), plain_peak = device.peak(cost.dtype, false);
        if (tensor_peak > 0) times.compute_ns += cost.tensor_flops / tensor_peak * 1e9;
        if (plain_peak > 0) times.compute_ns += std::max(0.0, cost.flops - cost.tensor_flops) / plain_peak * 1e9;
    }
    return times;
}

} // namespace

std::string_view nameOf(Bound bound) noexcept {
    switch (bound) {
    case Bound::Unknown: return "unknown";
    case Bound::Memory: return "memory";
    case Bound::Compute: return "compute";
    case Bound::Launch: return "launch";
    }
    return "unknown";
}

double roof(const DeviceSpec& device, double intensity, double peak_flops) noexcept {
    return std::min(peak_flops, std::max(0.0, intensity) * device.bandwidth_Bps);
}

double rooflineNs(const OpCost& cost, const DeviceSpec& device) noexcept {
    const Times times = timesOf(cost, device);
    return std::max(times.memory_ns, times.compute_ns);
}

// Launch: the work is shorter than five launches (the launch costs more than a fifth of it) *and* takes more than twice
// what the roofline allows: a short product that runs near its peak is not bound by its launch. Otherwise the longer of
// the two roofline times decides, which is the comparison of the intensity with the ridge point of the arithmetic used.
Bound boundOf(const OpCost& cost, double time_ns, const DeviceSpec& device) noexcept {
    if (!cost.bytes_known && !cost.flops_known) return Bound::Unknown;
    const Times times = timesOf(cost, device);
    const double least = std::max(times.memory_ns, times.compute_ns);
    if (time_ns > 0 && time_ns < 5 * device.launch_us * 1e3 && least * 2 < time_ns) return Bound::Launch;
    if (!cost.bytes_known) return Bound::Unknown;
    if (times.memory_ns <= 0 && times.compute_ns <= 0) return Bound::Unknown;
    return times.compute_ns > times.memory_ns ? Bound::Compute : Bound::Memory;
}

} // namespace fusescope
