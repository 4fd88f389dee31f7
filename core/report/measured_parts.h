// SPDX-License-Identifier: Apache-2.0
// Measured results in reports: what JSON, HTML, Markdown and the command line's table share.
#pragma once

#include "core/base/json_writer.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

struct RegionView {
    ChosenPtr region;
    std::optional<MeasuredFinding> measured; // none: no result fits it
    std::vector<std::string> counted_with;   // what its saving is counted with already
    bool counts = false;                     // beside the plan, in the step
};
// All that results say of an analysis, and of regions of the user's own.
struct MeasuredView {
    std::vector<std::optional<MeasuredFinding>> findings; // parallel to the analysis'; none: no result fits it
    std::vector<RegionView> regions;
    MeasuredPlan plan;
    [[nodiscard]] bool any() const; // some result fits, be it of a CPU
};
[[nodiscard]] MeasuredView viewOf(const Analysis& analysis, const MeasuredSet& set, std::span<const ChosenPtr> regions);

// One direction in words; "–" for what is not known.
struct DirectionText {
    std::string baseline, fused; // "83.9 µs ±2%", "83.9 µs (1 round)"
    std::string speedup;         // "4.10x", "4.10x (1 round)", "4.10x (1.96x to 104x)"
    std::string graph, graph_speedup;
    std::string rate, of_roof; // "3.2" TB/s, "80.0%"
    std::string speed, memory, numerics;
    std::string launches, peak;
    std::string error, largest_error; // against fp64
};
[[nodiscard]] DirectionText directionText(const Analysis& analysis, const MeasuredResult& result,
                                          const Comparison& direction);

// What a finding saves, ns per step, and of the step: measured where it is, else predicted.
[[nodiscard]] Verdict verdictOf(const Finding& f, const std::optional<MeasuredFinding>& measured); // measured if it is
[[nodiscard]] Range savingOf(const Finding& f, const std::optional<MeasuredFinding>& measured);
[[nodiscard]] double shareOfStep(const Analysis& a, const Finding& f, const std::optional<MeasuredFinding>& measured);
[[nodiscard]] std::string signedTime(double ns);                  // "-3.20 ms"
[[nodiscard]] std::string whenText(const MeasuredResult& result); // "2026-03-01 12:30 UTC", "" where it is not known
// "NVIDIA H200 · torch 2.11.0, driver 580.1 · ssh box fusescope-runner · 2026-03-01 12:30 UTC"
[[nodiscard]] std::string ranText(const MeasuredResult& result);
// Why the result does not count: "Ran on the CPU: ... The prediction stays."; "" when it does. promised: there is a
// prediction; regions of nodes have none.
[[nodiscard]] std::string caveatText(const MeasuredClass& measured, bool promised = true);
// "predicted 13.1 ms → measured 11.8 ms", without a promise "saves, measured, 11.8 ms", and of how many instances,
// where it is not all; "" when nothing counts.
[[nodiscard]] std::string predictedToMeasured(const MeasuredFinding& finding, bool promised = true);
// How many of the plan's findings are measured, and what that changed: "measured in 2 of 5 findings; left out, being
// slower: RoPE".
[[nodiscard]] std::string measuredPlanText(const Analysis& analysis, const MeasuredPlan& plan);

void writeRange(JsonWriter& json, std::string_view key, const Range& ns); // in µs
// Members of one direction: times, speedups, rates, errors, verdicts, reasons; the object is the caller's.
void writeComparison(JsonWriter& json, const Analysis& analysis, const MeasuredResult& measured,
                     const Comparison& direction);
void writeMeasuredFinding(JsonWriter& json, const Analysis& analysis, const MeasuredFinding& finding); // an object
void writeMeasuredPlan(JsonWriter& json, const Analysis& analysis, const MeasuredPlan& measured);      // an object

} // namespace fusescope
