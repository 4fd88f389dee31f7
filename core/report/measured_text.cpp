// SPDX-License-Identifier: Apache-2.0
#include "core/report/measured_parts.h"

#include "core/base/format.h"
#include "core/ipc/fuse_verdict.h"
#include "core/measured/chosen_gain.h"
#include "core/measured/roof.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

namespace fusescope {
namespace {

const std::string kNone = "–";

std::string spreadText(const Spread& us) {
    if (!(us.median > 0)) return kNone;
    const std::string time = formatDuration(us.median * 1e3);
    if (us.known()) return fmt::format("{} ±{:.0f}%", time, 50 * (us.p90 - us.p10) / us.median);
    return us.rounds > 0 ? time + " (" + formatCounted(us.rounds, "round") + ")" : time;
}
std::string timeText(double us) { return us > 0 ? formatDuration(us * 1e3) : kNone; }
std::string timesText(const Speedup& speedup) {
    if (!(speedup.factor > 0)) return kNone;
    const std::string doubt = doubtText(speedup);
    return formatSignificant(speedup.factor) + "x" + (doubt.empty() ? "" : " (" + doubt + ")");
}
std::string errorText(double error, bool known) { return known ? fmt::format("{:.2g}", error) : kNone; }

} // namespace

bool MeasuredView::any() const {
    return std::any_of(findings.begin(), findings.end(), [](const auto& one) { return one.has_value(); }) ||
           std::any_of(regions.begin(), regions.end(), [](const auto& one) { return one.measured.has_value(); });
}

MeasuredView viewOf(const Analysis& analysis, const MeasuredSet& set, std::span<const ChosenPtr> regions) {
    const auto fits = [](const MeasuredFinding& made) {
        return std::any_of(made.classes.begin(), made.classes.end(), [](const auto& c) { return c.result != nullptr; });
    };
    MeasuredView view;
    view.plan = applyMeasured(analysis, set, regions);
    view.findings.resize(analysis.findings.size());
    for (std::size_t f = 0; f < analysis.findings.size(); ++f) {
        if (!set.any(analysis.findings[f].id)) continue;
        if (MeasuredFinding made = applyMeasured(analysis, analysis.findings[f], set); fits(made))
            view.findings[f] = std::move(made);
    }
    std::vector<RegionGain> gains = regionGains(analysis, set, view.plan.plan, regions);
    for (std::size_t row = 0; row < regions.size(); ++row) {
        RegionView& one = view.regions.emplace_back();
        one.region = regions[row];
        one.counted_with = std::move(gains[row].with);
        one.counts = gains[row].counts;
        if (fits(gains[row].measured)) one.measured = std::move(gains[row].measured);
    }
    return view;
}

DirectionText directionText(const Analysis& analysis, const MeasuredResult& result, const Comparison& direction) {
    const bool fp64 = result.result.fp64_note.empty(), has = direction.has_fused;
    const FuseVerdict verdict = judge(direction, fp64);
    const RoofShare roof = roofShare(result, direction, matmulRate(analysis, result.result));
    const Measured &base = direction.baseline, &fused = direction.fused;
    const auto both = [&](const std::string& before, const std::string& after) {
        return has && before != kNone ? before + " → " + after : before;
    };
    const auto count = [](double n) { return n > 0 ? fmt::format("{:.0f}", n) : kNone; };
    DirectionText text;
    text.baseline = spreadText(base.us);
    text.fused = has ? spreadText(fused.us) : kNone;
    text.speedup = timesText(verdict.speedup);
    text.graph = both(timeText(base.graph_us.median), timeText(fused.graph_us.median));
    text.graph_speedup = timesText(verdict.graph_speedup);
    text.rate = roof.Bps > 0 ? formatSignificant(roof.Bps / 1e12) : kNone;
    text.of_roof = roof.share > 0 ? formatPercent(roof.share) : kNone;
    text.speed = has ? speedText(verdict) : "no fused form";
    text.memory = has ? std::string(nameOf(verdict.memory)) : kNone;
    text.numerics = has ? std::string(nameOf(verdict.numerics)) : kNone;
    text.launches = both(count(base.launches), count(fused.launches));
    text.peak = both(formatBytes(base.peak_bytes), formatBytes(fused.peak_bytes));
    text.error = both(errorText(base.relative_error, fp64), errorText(fused.relative_error, fp64));
    text.largest_error = errorText(fused.max_abs_error, fp64 && has);
    return text;
}

std::string signedTime(double ns) { return (ns < 0 ? "-" : "") + formatDuration(std::abs(ns)); }

std::string whenText(const MeasuredResult& result) {
    const auto seconds = static_cast<std::time_t>(result.when_s);
    std::tm parts{};
    if (result.when_s <= 0 || gmtime_r(&seconds, &parts) == nullptr) return {};
    char text[64];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &parts)};
}

std::string ranText(const MeasuredResult& result) {
    std::string text = result.result.device;
    // Without the runner's command: reports are handed on, and it may name hosts and folders.
    for (const std::string& part : {result.versions, whenText(result)})
        if (!part.empty()) text += (text.empty() ? "" : " · ") + part;
    return text;
}

std::string caveatText(const MeasuredClass& measured, bool promised) {
    std::string text;
    switch (measured.use) {
    case MeasuredUse::Saving: return {};
    case MeasuredUse::NoFusedForm: text = "Nothing was compared: there is no fused form of it."; break;
    case MeasuredUse::Cpu:
        text = "Ran on the CPU: it shows that the fused form computes the same, not what a GPU saves.";
        break;
    case MeasuredUse::OtherDevice:
        text = "Ran on " + measured.result->result.device + ", which is not the GPU that the findings speak of.";
        break;
    case MeasuredUse::NotInStep: text = "Not seen in the step at these sizes."; break;
    case MeasuredUse::Unsteady:
        text =
            "The runs are too few or differ too much to tell a speedup (" + doubtText(measured.result->result) + ").";
        break;
    case MeasuredUse::Busy:
        text = "The GPU was busy (" + measured.result->result.busy_note + "): these times are not to be trusted.";
        break;
    }
    return text + (promised ? " The prediction stays." : " Nothing of it counts in the step.");
}

std::string predictedToMeasured(const MeasuredFinding& finding, bool promised) {
    if (!finding.any()) return {};
    const double saved = finding.saving_ns.expected;
    std::string text = promised ? "predicted " + formatDuration(finding.predicted_ns) + " → " : std::string();
    text += saved < 0 ? "measured slower by " : promised ? "measured " : "saves, measured, ";
    text += formatDuration(std::abs(saved));
    if (!finding.whole())
        text += fmt::format(" ({} of {} instances measured, the rest predicted)", finding.measured, finding.instances);
    return text;
}

Verdict verdictOf(const Finding& f, const std::optional<MeasuredFinding>& measured) {
    return measured ? measured->verdict : f.verdict;
}

Range savingOf(const Finding& f, const std::optional<MeasuredFinding>& measured) {
    return measured && measured->any() ? measured->saving_ns : f.saving_ns;
}

double shareOfStep(const Analysis& a, const Finding& f, const std::optional<MeasuredFinding>& measured) {
    if (!measured || !measured->any()) return f.step_share;
    return shareOfSaving(f, measured->saving_ns.expected, a.plan.step_ns);
}

std::string measuredPlanText(const Analysis& analysis, const MeasuredPlan& plan) {
    if (!plan.any()) return {};
    const auto names = [&](const std::vector<std::string>& ids) { return titlesOf(analysis, ids); };
    std::string text = plan.whole() ? std::string("measured")
                                    : fmt::format("measured in {} of {} findings, {} of the plan's instances predicted",
                                                  plan.measured, plan.parts, plan.predicted_instances);
    if (plan.regions > 0)
        text += plan.regions == 1 ? " and 1 region of yours" : fmt::format(" and {} regions of yours", plan.regions);
    if (!plan.left_out.empty()) text += "; left out, as it was measured to save nothing there: " + names(plan.left_out);
    if (!plan.come_in.empty()) text += "; newly in it: " + names(plan.come_in);
    return text;
}

} // namespace fusescope
