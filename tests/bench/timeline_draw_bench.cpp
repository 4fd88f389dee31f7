// SPDX-License-Identifier: Apache-2.0
// Frames of the timeline: how long it takes to make the draw list while panning and zooming. Budget: p99 <= 8 ms a
// frame at ten million slices, 1920x1080, of which painting needs its part too.
#include "core/draw/timeline_draw.h"
#include "core/io/open.h"
#include "tests/support/synthetic_analysis.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <vector>

namespace fusescope {
namespace {

// A journey over the trace: in and out over six orders of magnitude, panning on the way.
TimelineView frame(const TraceStore& trace, std::size_t i, double height) {
    const double whole = static_cast<double>(trace.end - trace.begin);
    const double zoom = std::pow(10.0, -3.0 + 3.0 * std::cos(static_cast<double>(i) * 0.05)); // 1 .. 1e-6
    const double span = std::max(1000.0, whole * zoom);
    const double centre = whole * (0.5 + 0.45 * std::sin(static_cast<double>(i) * 0.37));
    TimelineView view;
    view.width = 1920;
    view.height = height;
    view.t0 = trace.begin + static_cast<std::int64_t>(std::max(0.0, centre - span / 2));
    view.t1 = view.t0 + static_cast<std::int64_t>(span);
    return view;
}

// Of this thread: the machine may be busy with other things.
double cpuMilliseconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

void frames(benchmark::State& state, const Analysis& analysis, const SelectionSets& selection,
            const TimelineAfter* after = nullptr) {
    const TimelineLayout layout = timelineLayout(analysis, {});
    std::vector<double> times;
    std::size_t i = 0, rects = 0, texts = 0;
    for (auto _ : state) {
        const TimelineView view = frame(*analysis.trace, i++, 1080);
        const double begin = cpuMilliseconds();
        const DrawList list = drawTimeline(analysis, layout, view, selection, {}, after);
        times.push_back(cpuMilliseconds() - begin);
        rects = std::max(rects, list.rects.size());
        texts = std::max(texts, list.texts.size());
        benchmark::DoNotOptimize(list.rects.data());
    }
    std::sort(times.begin(), times.end());
    state.counters["p50_ms"] = times[times.size() / 2];
    state.counters["p99_ms"] = times[times.size() * 99 / 100];
    state.counters["max_ms"] = times.back();
    state.counters["rects"] = static_cast<double>(rects);
    state.counters["texts"] = static_cast<double>(texts);
}

const Analysis& synthetic(std::size_t slices) {
    static std::map<std::size_t, Analysis> made;
    auto at = made.find(slices);
    if (at == made.end()) at = made.emplace(slices, testing::syntheticTimeline(slices)).first;
    return at->second;
}

void timelineSynthetic(benchmark::State& state) {
    frames(state, synthetic(static_cast<std::size_t>(state.range(0))), {});
}

void timelineSelected(benchmark::State& state) {
    const Analysis& analysis = synthetic(static_cast<std::size_t>(state.range(0)));
    SelectionSets selection;
    selection.pick = {PickKind::Op, 0};
    selection.ops = {0};
    for (std::size_t k = 0; k < analysis.trace->kernels.size(); k += 26) selection.kernels.emplace_back(k);
    frames(state, analysis, selection);
}

// Every hundredth kernel fused away: what follows each has moved.
void timelineAfterFusing(benchmark::State& state) {
    const Analysis& analysis = synthetic(static_cast<std::size_t>(state.range(0)));
    const TraceStore& trace = *analysis.trace;
    TimelineAfter after;
    TimeMap& gpu = after.gpus.emplace_back(DeviceTimes{0, {}}).map;
    std::int64_t shift = 0;
    for (std::size_t k = 0; k < trace.kernels.size(); k += 100) {
        const SliceId slice = trace.kernels.slice[k];
        const std::int64_t begin = trace.slices.ts[slice.index()], end = trace.endOf(slice);
        gpu.add(begin, begin - shift);
        shift += (end - begin) / 2;
        gpu.add(end, end - shift);
        after.removed.push_back(slice);
    }
    after.begin = trace.begin;
    after.recorded_end = trace.end;
    after.end = trace.end - shift;
    state.counters["knots"] = static_cast<double>(gpu.knots().size());
    frames(state, analysis, {}, &after);
}

void minimap(benchmark::State& state) {
    const Analysis& analysis = synthetic(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(drawMinimap(analysis, 1920, 48).rects.data());
}

// FUSESCOPE_BENCH_TRACE: path of a real trace.
void timelineRealTrace(benchmark::State& state) {
    const char* path = std::getenv("FUSESCOPE_BENCH_TRACE");
    if (!path) return state.SkipWithError("set FUSESCOPE_BENCH_TRACE to a trace");
    static Analysis analysis;
    if (!analysis.trace) {
        Progress progress;
        Result<OpenedFile> opened = openFile(path, progress);
        if (!opened.ok() || !std::holds_alternative<TracePtr>(opened.value()))
            return state.SkipWithError("cannot be opened as a trace");
        analysis.trace = std::get<TracePtr>(opened.value());
        analysis.link = linkTrace(*analysis.trace, nullptr, progress);
        analysis.index = std::make_shared<const SliceIndex>(*analysis.trace);
    }
    frames(state, analysis, {});
}

BENCHMARK(timelineSynthetic)->Arg(1'000'000)->Arg(10'000'000)->Iterations(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(timelineSelected)->Arg(10'000'000)->Iterations(500)->Unit(benchmark::kMillisecond);
BENCHMARK(timelineAfterFusing)->Arg(10'000'000)->Iterations(1000)->Unit(benchmark::kMillisecond);
BENCHMARK(minimap)->Arg(10'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(timelineRealTrace)->Iterations(1000)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace fusescope
