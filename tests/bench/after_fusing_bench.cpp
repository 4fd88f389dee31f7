// SPDX-License-Identifier: Apache-2.0
// What a selection costs in the window's thread once every finding is measured.
// FUSESCOPE_BENCH_TRACE: path of a real trace.
#include "core/analysis/analysis.h"
#include "core/measured/after.h"
#include "core/measured/moves.h"
#include "tests/support/measured.h"

#include <benchmark/benchmark.h>

#include <cstdlib>

namespace fusescope {
namespace {

const Analysis* opened() {
    static const AnalysisPtr analysis = []() -> AnalysisPtr {
        const char* path = std::getenv("FUSESCOPE_BENCH_TRACE");
        Progress progress;
        if (path == nullptr) return nullptr;
        auto made = analyzeFiles({path}, {}, progress);
        return made ? *made : nullptr;
    }();
    return analysis.get();
}

MeasuredSet allMeasured(const Analysis& analysis) {
    MeasuredSet all;
    for (std::size_t row = 0; row < analysis.findings.size(); ++row) {
        const MeasuredSet one = testing::measuredAs(analysis, row, 0.5);
        for (const auto& [key, result] : one.results()) all.set(result);
    }
    return all;
}

// Kernels one after the other, as clicks on the timeline pick them.
template <class Each> void selections(benchmark::State& state, Each&& each) {
    const Analysis* analysis = opened();
    if (analysis == nullptr) return state.SkipWithError("set FUSESCOPE_BENCH_TRACE to a trace");
    const MeasuredSet measured = allMeasured(*analysis);
    std::uint32_t kernel = 0;
    for (auto _ : state) {
        const SelectionSets selection = select(*analysis, {PickKind::Kernel, kernel});
        each(*analysis, measured, selection);
        kernel = (kernel + 101) % static_cast<std::uint32_t>(analysis->trace->kernels.size());
    }
}

void selectOnly(benchmark::State& state) {
    selections(state, [](const Analysis&, const MeasuredSet&, const SelectionSets&) {});
}
void stepReckonedAnew(benchmark::State& state) {
    selections(state, [](const Analysis& a, const MeasuredSet& set, const SelectionSets& selection) {
        benchmark::DoNotOptimize(timelineAfter(a, set, selection));
    });
}
void stepOfACache(benchmark::State& state) {
    AfterCache cache;
    selections(state, [&](const Analysis& a, const MeasuredSet& set, const SelectionSets& selection) {
        benchmark::DoNotOptimize(cache.of(a, set, selection, {}));
    });
}
void shownAsFused(benchmark::State& state) {
    selections(state, [](const Analysis& a, const MeasuredSet& set, const SelectionSets& selection) {
        benchmark::DoNotOptimize(timelineFused(a, set, selection));
    });
}

BENCHMARK(selectOnly)->Unit(benchmark::kMillisecond);
BENCHMARK(stepReckonedAnew)->Unit(benchmark::kMillisecond);
BENCHMARK(stepOfACache)->Unit(benchmark::kMillisecond);
BENCHMARK(shownAsFused)->Unit(benchmark::kMillisecond);

} // namespace
} // namespace fusescope
