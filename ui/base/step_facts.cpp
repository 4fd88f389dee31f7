// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/step_facts.h"

namespace fusescope {
namespace {
constexpr double kHalf = 0.5;
// A CPU under a profiler takes a few to a few tens of microseconds from launch to launch, Python around them some more.
constexpr double kLongestBetweenLaunches = 250e3; // ns
} // namespace

GpuUse gpuUse(const StepStats& step) noexcept {
    if (!(step.wall_ns > 0) || !(step.gpu_busy_ns > 0)) return GpuUse::Unknown;
    if (step.gpu_busy_ns >= step.wall_ns * kHalf) return GpuUse::Busy;
    return step.launches > 0 && step.gpu_idle_ns / step.launches < kLongestBetweenLaunches ? GpuUse::Launches
                                                                                           : GpuUse::Waiting;
}

} // namespace fusescope
