// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/fuse_verdict.h"

#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace fusescope {
namespace {

constexpr double kSameTime = 0.01, kSameMemory = 0.02, kSameBytes = 65'536, kAsExact = 1.2;
constexpr double kReference = 1e-15; // relative; the fp64 reference is rounded itself, and may be the baseline

MemoryVerdict memoryOf(double baseline, double fused) {
    const double difference = fused - baseline;
    if (std::abs(difference) <= kSameBytes || std::abs(difference) <= kSameMemory * std::max(baseline, fused))
        return MemoryVerdict::Same;
    return difference < 0 ? MemoryVerdict::Less : MemoryVerdict::More;
}

NumericsVerdict numericsOf(const Comparison& comparison, bool fp64) {
    if (comparison.fused.bitwise) return NumericsVerdict::Bitwise;
    if (!fp64) return NumericsVerdict::Unknown;
    return comparison.fused.relative_error <= std::max(kAsExact * comparison.baseline.relative_error, kReference)
               ? NumericsVerdict::AsExact
               : NumericsVerdict::LessExact;
}

double ratio(double of, double to) { return of > 0 && to > 0 ? of / to : 0; }
std::string timesText(double factor) { return formatSignificant(factor) + "x"; }

} // namespace

Speedup speedupOf(const Spread& baseline, const Spread& fused) {
    Speedup speedup;
    speedup.factor = ratio(baseline.median, fused.median);
    speedup.rounds = std::min(baseline.rounds, fused.rounds);
    if (!baseline.known() || !fused.known()) return speedup;
    speedup.low = ratio(baseline.p10, fused.p90);
    speedup.high = ratio(baseline.p90, fused.p10);
    return speedup;
}

SpeedVerdict speedOf(const Spread& baseline, const Spread& fused) {
    if (!(baseline.median > 0) || !(fused.median > 0)) return SpeedVerdict::Unknown;
    if (!speedupOf(baseline, fused).steady()) return SpeedVerdict::Unsteady;
    if (fused.median < (1 - kSameTime) * baseline.median && fused.p90 < baseline.p10) return SpeedVerdict::Faster;
    if (fused.median > (1 + kSameTime) * baseline.median && fused.p10 > baseline.p90) return SpeedVerdict::Slower;
    return SpeedVerdict::NotFaster;
}

FuseVerdict judge(const Comparison& comparison, bool fp64) {
    FuseVerdict verdict;
    if (!comparison.has_fused) return verdict;
    const Measured &baseline = comparison.baseline, &fused = comparison.fused;
    verdict.speed = speedOf(baseline.us, fused.us);
    verdict.speedup = speedupOf(baseline.us, fused.us);
    verdict.graph_speedup = speedupOf(baseline.graph_us, fused.graph_us);
    verdict.memory = memoryOf(baseline.peak_bytes, fused.peak_bytes);
    verdict.numerics = numericsOf(comparison, fp64);
    if (fp64) verdict.error_ratio = ratio(fused.relative_error, baseline.relative_error);
    return verdict;
}

std::string doubtText(const Speedup& speedup) {
    if (!(speedup.factor > 0) || speedup.steady()) return {};
    if (speedup.low > 0) return timesText(speedup.low) + " to " + timesText(speedup.high);
    return speedup.rounds > 0 ? formatCounted(speedup.rounds, "round") : "rounds not told";
}

std::string doubtText(const FuseResult& result) {
    std::string text;
    std::set<std::string> doubts; // "" of what is steady
    for (const Comparison& one : result.directions) {
        if (!one.has_fused) continue;
        for (const auto& [speedup, how] :
             {std::pair(speedupOf(one.baseline.us, one.fused.us), ": "),
              std::pair(speedupOf(one.baseline.graph_us, one.fused.graph_us), " under a CUDA graph: ")}) {
            if (!(speedup.factor > 0)) continue;
            const std::string doubt = doubtText(speedup);
            doubts.insert(doubt);
            if (!doubt.empty()) text += (text.empty() ? "" : ", ") + one.direction + how + doubt;
        }
    }
    return doubts.size() == 1 ? *doubts.begin() : text;
}

std::string speedText(const FuseVerdict& verdict) {
    switch (verdict.speed) {
    case SpeedVerdict::Faster: return timesText(verdict.speedup.factor) + " faster";
    case SpeedVerdict::NotFaster: return "no clear difference";
    case SpeedVerdict::Slower: return timesText(1 / verdict.speedup.factor) + " slower";
    case SpeedVerdict::Unsteady: return "not certain (" + doubtText(verdict.speedup) + ")";
    case SpeedVerdict::Unknown: break;
    }
    return "not known";
}

std::string_view nameOf(MemoryVerdict verdict) noexcept {
    switch (verdict) {
    case MemoryVerdict::Less: return "less memory";
    case MemoryVerdict::Same: return "same memory";
    case MemoryVerdict::More: return "more memory";
    case MemoryVerdict::Unknown: break;
    }
    return "memory not known";
}

std::string_view nameOf(NumericsVerdict verdict) noexcept {
    switch (verdict) {
    case NumericsVerdict::Bitwise: return "bitwise equal";
    case NumericsVerdict::AsExact: return "as exact as eager";
    case NumericsVerdict::LessExact: return "less exact";
    case NumericsVerdict::Unknown: break;
    }
    return "numerics not known";
}

std::string verdictText(const FuseVerdict& verdict) {
    if (verdict.speed == SpeedVerdict::Unknown && verdict.memory == MemoryVerdict::Unknown) return "no fused form";
    return fmt::format("{}, {}, {}", speedText(verdict), nameOf(verdict.memory), nameOf(verdict.numerics));
}

std::vector<std::string> verdictReasons(const Comparison& comparison, const FuseResult& result) {
    std::vector<std::string> reasons;
    if (!comparison.has_fused) return reasons;
    const Measured &baseline = comparison.baseline, &fused = comparison.fused;
    const FuseVerdict verdict = judge(comparison, result.fp64_note.empty());
    const auto range = [](const Spread& spread) {
        const std::string median = formatDuration(spread.median * 1e3);
        if (!spread.known()) return median;
        return fmt::format("{} ({} to {})", median, formatDuration(spread.p10 * 1e3), formatDuration(spread.p90 * 1e3));
    };
    std::string text = fmt::format("{}, fused {}", range(baseline.us), range(fused.us));
    if (verdict.speed == SpeedVerdict::NotFaster) text += ": within the spread";
    reasons.push_back(std::move(text));
    const Speedup &launched = verdict.speedup, &graph = verdict.graph_speedup;
    if (verdict.speed == SpeedVerdict::Unsteady)
        reasons.push_back(launched.low > 0
                              ? "The runs differ too much to tell a speedup: all from " + doubtText(launched) + " fits."
                              : fmt::format("Of {}: how much times spread is not known, and no speedup is told of "
                                            "fewer than {}.",
                                            doubtText(launched), kFewestFuseRounds));
    else if (graph.steady() && launched.factor > 1.5 * graph.factor)
        reasons.push_back("Under a CUDA graph, where launches cost nothing, it is " + timesText(graph.factor) +
                          ": the rest is launches.");
    if (verdict.numerics == NumericsVerdict::Unknown)
        reasons.push_back(fmt::format("No error against fp64: {}. It differs from eager by {:.3g}.", result.fp64_note,
                                      fused.relative_to_baseline));
    else if (verdict.numerics != NumericsVerdict::Bitwise)
        reasons.push_back(
            fmt::format("Error against fp64 {:.3g}, eager's {:.3g}.", fused.relative_error, baseline.relative_error));
    if (result.busy) reasons.push_back("Times are not to be trusted: " + result.busy_note + ".");
    if (!result.on_gpu) reasons.emplace_back("Measured on the CPU: it tells of correctness, not of a GPU's speed.");
    return reasons;
}

} // namespace fusescope
