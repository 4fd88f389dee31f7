// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/step_stats.h"

#include <algorithm>
#include <limits>

namespace fusescope {
namespace {

// How much of the wait [from, to) before a piece of GPU work passed before its launch was made.
double waitForLaunch(const TraceStore& trace, std::size_t work, std::int64_t from, std::int64_t to) {
    const SliceId launch = trace.slices.launch[work];
    return launch.valid() ? static_cast<double>(std::clamp(trace.endOf(launch), from, to) - from) : 0;
}

// A GPU that is idle for less than this share of the step is kept busy; what it waits for does not matter much.
constexpr double kIdle = 0.3;

StepBound boundOf(const StepStats& stats) {
    if (!(stats.wall_ns > 0) || !(stats.gpu_busy_ns > 0)) return StepBound::Unknown;
    if (stats.gpu_idle_ns < kIdle * stats.wall_ns) return StepBound::Kernels;
    return stats.launch_wait_ns >= 0.5 * stats.gpu_idle_ns ? StepBound::Launches : StepBound::Idle;
}

// Adds the union of GPU work in [begin, end) and the kernel count of one step. rows: its GPU rows, by time.
void addGpuTime(const TraceStore& trace, const std::vector<SliceId>& rows, StepStats& stats) {
    std::int64_t covered_to = stats.begin;
    for (const SliceId id : rows) {
        const std::size_t row = id.index();
        const std::int64_t from = std::max(trace.slices.ts[row], covered_to);
        const std::int64_t to = std::min(trace.endOf(id), stats.end);
        if (to > from && from > covered_to) stats.launch_wait_ns += waitForLaunch(trace, row, covered_to, from);
        if (to > from) stats.gpu_busy_ns += static_cast<double>(to - from);
        covered_to = std::max(covered_to, to);
        if (trace.slices.category[row] == Category::Kernel) {
            ++stats.kernels;
            stats.kernel_ns += static_cast<double>(trace.slices.dur[row]);
        }
    }
    stats.wall_ns = static_cast<double>(stats.end - stats.begin);
    stats.gpu_idle_ns = std::max(0.0, stats.wall_ns - stats.gpu_busy_ns);
    stats.bound = boundOf(stats);
}

} // namespace

std::string_view nameOf(StepBound bound) noexcept {
    switch (bound) {
    case StepBound::Unknown: return "unknown";
    case StepBound::Kernels: return "kernels";
    case StepBound::Launches: return "launches";
    case StepBound::Idle: return "idle";
    }
    return "unknown";
}

std::size_t nextStep(const TraceStore& trace, std::size_t step) noexcept {
    std::size_t next = step + 1;
    while (next < trace.steps.size() && trace.steps[next].pid != trace.steps[step].pid) ++next;
    return next;
}

std::vector<StepStats> stepStats(const TraceStore& trace) {
    const bool pseudo = trace.steps.empty();
    std::vector<StepStats> all(pseudo ? 1 : trace.steps.size());
    std::vector<std::vector<SliceId>> gpu(all.size());

    // A launch is a host call that some GPU work answers to: calls without work (queries, syncs) do not count.
    std::vector<bool> launches(trace.slices.size(), false);
    for (const SliceId launch : trace.slices.launch)
        if (launch.valid()) launches[launch.index()] = true;

    for (std::size_t row = 0; row < trace.slices.size(); ++row) {
        const std::int16_t step = pseudo ? std::int16_t{0} : trace.slices.step[row];
        if (step < 0 || static_cast<std::size_t>(step) >= all.size()) continue;
        const auto at = static_cast<std::size_t>(step);
        // Untimed GPU rows (ts 0, dur 0) would stretch the step to the origin of the clock.
        const bool untimed = trace.slices.ts[row] == 0 && trace.slices.dur[row] == 0;
        if (isGpuWork(trace.slices.category[row])) {
            if (!untimed) gpu[at].push_back(SliceId(row));
        } else if (launches[row]) {
            ++all[at].launches;
        }
    }

    for (std::size_t i = 0; i < all.size(); ++i) {
        StepStats& stats = all[i];
        stats.name = pseudo ? "all" : trace.steps[i].name;
        stats.begin = pseudo ? trace.begin : trace.steps[i].begin;
        stats.end = pseudo ? trace.end : trace.steps[i].end;
        if (pseudo || gpu[i].empty()) continue;
        stats.begin = trace.slices.ts[gpu[i].front().index()];
        std::int64_t last = stats.end;
        for (const SliceId id : gpu[i]) last = std::max(last, trace.endOf(id));
        stats.end = last;
        const std::size_t next = nextStep(trace, i);
        if (next < all.size() && !gpu[next].empty())
            stats.end = std::max(stats.begin, trace.slices.ts[gpu[next].front().index()]);
    }
    for (std::size_t i = 0; i < all.size(); ++i) addGpuTime(trace, gpu[i], all[i]);
    return all;
}

} // namespace fusescope
