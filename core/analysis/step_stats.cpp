// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/step_stats.h"

#include <algorithm>
#include <limits>

namespace fusescope {
namespace {

bool isLaunch(const TraceStore& trace, std::size_t row) {
    const Category c = trace.slices.category[row];
    return (c == Category::CudaRuntime || c == Category::CudaDriver) && trace.slices.correlation[row] != 0;
}

struct Launch {
    std::uint32_t correlation = 0;
    std::int64_t end = 0;
};

// Host calls that GPU work may answer to, by correlation.
std::vector<Launch> launchesOf(const TraceStore& trace) {
    std::vector<Launch> launches;
    for (std::size_t row = 0; row < trace.slices.size(); ++row)
        if (isLaunch(trace, row)) launches.push_back({trace.slices.correlation[row], trace.endOf(SliceId(row))});
    std::stable_sort(launches.begin(), launches.end(),
                     [](const Launch& a, const Launch& b) { return a.correlation < b.correlation; });
    return launches;
}

// How much of the wait [from, to) before a piece of GPU work passed before its launch was made.
double waitForLaunch(const TraceStore& trace, const std::vector<Launch>& launches, std::size_t work, std::int64_t from,
                     std::int64_t to) {
    const std::uint32_t correlation = trace.slices.correlation[work];
    const auto at = std::lower_bound(launches.begin(), launches.end(), correlation,
                                     [](const Launch& a, std::uint32_t c) { return a.correlation < c; });
    if (correlation == 0 || at == launches.end() || at->correlation != correlation) return 0;
    return static_cast<double>(std::clamp(at->end, from, to) - from);
}

// A GPU that is idle for less than this share of the step is kept busy; what it waits for does not matter much.
constexpr double kIdle = 0.3;

StepBound boundOf(const StepStats& stats) {
    if (!(stats.wall_ns > 0) || !(stats.gpu_busy_ns > 0)) return StepBound::Unknown;
    if (stats.gpu_idle_ns < kIdle * stats.wall_ns) return StepBound::Kernels;
    return stats.launch_wait_ns >= 0.5 * stats.gpu_idle_ns ? StepBound::Launches : StepBound::Idle;
}

// Adds the union of GPU work in [begin, end) and the kernel count of one step. rows: its GPU rows, by time.
void addGpuTime(const TraceStore& trace, const std::vector<Launch>& launches, const std::vector<SliceId>& rows,
                StepStats& stats) {
    std::int64_t covered_to = stats.begin;
    for (const SliceId id : rows) {
        const std::size_t row = id.index();
        const std::int64_t from = std::max(trace.slices.ts[row], covered_to);
        const std::int64_t to = std::min(trace.endOf(id), stats.end);
        if (to > from && from > covered_to)
            stats.launch_wait_ns += waitForLaunch(trace, launches, row, covered_to, from);
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

std::vector<StepStats> stepStats(const TraceStore& trace) {
    const bool pseudo = trace.steps.empty();
    std::vector<StepStats> all(pseudo ? 1 : trace.steps.size());
    std::vector<std::vector<SliceId>> gpu(all.size());

    // A launch is a host call that some GPU work answers to: calls without work (queries, syncs) do not count.
    std::vector<std::uint32_t> correlations;
    for (std::size_t row = 0; row < trace.slices.size(); ++row)
        if (isGpuWork(trace.slices.category[row])) correlations.push_back(trace.slices.correlation[row]);
    std::sort(correlations.begin(), correlations.end());

    for (std::size_t row = 0; row < trace.slices.size(); ++row) {
        const std::int16_t step = pseudo ? std::int16_t{0} : trace.slices.step[row];
        if (step < 0 || static_cast<std::size_t>(step) >= all.size()) continue;
        const auto at = static_cast<std::size_t>(step);
        // Untimed GPU rows (ts 0, dur 0) would stretch the step to the origin of the clock.
        const bool untimed = trace.slices.ts[row] == 0 && trace.slices.dur[row] == 0;
        if (isGpuWork(trace.slices.category[row])) {
            if (!untimed) gpu[at].push_back(SliceId(row));
        } else if (isLaunch(trace, row) &&
                   std::binary_search(correlations.begin(), correlations.end(), trace.slices.correlation[row])) {
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
        if (i + 1 < all.size() && !gpu[i + 1].empty())
            stats.end = std::max(stats.begin, trace.slices.ts[gpu[i + 1].front().index()]);
    }
    const std::vector<Launch> launches = launchesOf(trace);
    for (std::size_t i = 0; i < all.size(); ++i) addGpuTime(trace, launches, gpu[i], all[i]);
    return all;
}

} // namespace fusescope
