// SPDX-License-Identifier: Apache-2.0
#include "core/report/fuse_report.h"

#include "core/base/format.h"
#include "core/base/printable.h"
#include "core/ipc/fuse_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace fusescope {
namespace {

const std::string kNone = "–";

std::size_t widthOf(const std::string& text) { // characters: the figures have no wide ones
    return static_cast<std::size_t>(std::count_if(
        text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

// Columns as wide as they need to be; the first `left` are words, the rest figures, aligned right.
class Table {
public:
    Table(std::vector<std::string> head, std::vector<bool> words) : words_(std::move(words)) {
        rows_.push_back(std::move(head));
    }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.size() == 1; }
    [[nodiscard]] std::string text() const {
        std::vector<std::size_t> widths(words_.size(), 0);
        for (const auto& row : rows_)
            for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], widthOf(row[c]));
        std::string out;
        for (const auto& row : rows_) {
            std::string line;
            for (std::size_t c = 0; c < row.size(); ++c) {
                const std::string blanks(widths[c] - widthOf(row[c]), ' ');
                line += (c > 0 ? "  " : "") + (words_[c] ? row[c] + blanks : blanks + row[c]);
            }
            line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
        return out;
    }

private:
    std::vector<bool> words_;
    std::vector<std::vector<std::string>> rows_;
};

std::string timeText(double us) { return us > 0 ? formatDuration(us * 1e3) : kNone; }
std::string spreadText(const Spread& spread) {
    if (!(spread.median > 0)) return kNone;
    return fmt::format("{} ±{:.0f}%", formatDuration(spread.median * 1e3),
                       50 * (spread.p90 - spread.p10) / spread.median);
}
std::string timesText(double factor) { return factor > 0 ? formatSignificant(factor) + "x" : kNone; }
std::string pairText(const std::string& before, const std::string& after) { return before + " → " + after; }
std::string signedTime(double ns) { return (ns < 0 ? "-" : "") + formatDuration(std::abs(ns)); }
std::string rangeText(const Range& ns) {
    return fmt::format("{} ({} to {})", formatDuration(ns.expected), formatDuration(ns.low), formatDuration(ns.high));
}
std::string errorText(double error, bool known) { return known ? fmt::format("{:.2g}", error) : kNone; }

std::string header(const FuseReport& report) {
    const RunnerHello& hello = report.hello;
    std::string text = "Measured on " + (report.onGpu() ? report.device() : "the CPU (reference kernels, no GPU)") +
                       ": FuseScope runner " + hello.build + ", torch " + hello.torch;
    if (!hello.driver.empty()) text += ", driver " + hello.driver;
    text += ".\n";
    if (!hello.kernels) text += "The fused kernels are not there: " + hello.kernels_problem + "\n";
    return text;
}

std::string regionName(const MeasuredRegion& region) {
    return region.region + (region.shape.empty() ? "" : " " + region.shape);
}

void addTimes(Table& times, Table& verdicts, const MeasuredRegion& region, const FuseReport& report) {
    for (const Comparison& one : region.result->directions) {
        const bool fp64 = region.result->fp64_note.empty();
        const FuseVerdict verdict = judge(one, fp64);
        const RoofShare roof = roofShare(region, one, report);
        const Measured &base = one.baseline, &fused = one.fused;
        const bool has = one.has_fused, graph = base.graph_us.median > 0;
        const std::string name = &one == &region.result->directions.front() ? regionName(region) : std::string();
        const std::string base_graph = timeText(base.graph_us.median);
        times.add({name, one.direction, spreadText(base.us), has ? spreadText(fused.us) : kNone,
                   timesText(verdict.speedup),
                   has && graph ? pairText(base_graph, timeText(fused.graph_us.median)) : base_graph,
                   timesText(verdict.graph_speedup), roof.Bps > 0 ? formatSignificant(roof.Bps / 1e12) : kNone,
                   roof.share > 0 ? formatPercent(roof.share) : kNone});
        const auto count = [](double n) { return n > 0 ? fmt::format("{:.0f}", n) : kNone; };
        const auto both = [&](const std::string& before, const std::string& after) {
            return has && before != kNone ? pairText(before, after) : before;
        };
        verdicts.add({name, one.direction, has ? speedText(verdict) : "no fused form",
                      has ? std::string(nameOf(verdict.memory)) : kNone,
                      has ? std::string(nameOf(verdict.numerics)) : kNone,
                      both(count(base.launches), count(fused.launches)),
                      both(formatBytes(base.peak_bytes), formatBytes(fused.peak_bytes)),
                      both(errorText(base.relative_error, fp64), errorText(fused.relative_error, fp64)),
                      errorText(fused.max_abs_error, fp64 && has)});
    }
}

std::string notes(const FuseReport& report) {
    std::vector<std::string> lines;
    std::set<std::string> findings; // measured ones
    const auto note = [&](const std::string& text) {
        if (std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(text);
    };
    for (const MeasuredRegion& region : report.regions) {
        if (!region.error.empty()) note(regionName(region) + ": " + region.error);
        if (!region.reason.empty()) note(regionName(region) + ": " + region.reason);
        if (!region.result) continue;
        if (!region.finding.empty()) findings.insert(region.finding);
        const bool fused = std::any_of(region.result->directions.begin(), region.result->directions.end(),
                                       [](const Comparison& one) { return one.has_fused; });
        if (region.result->busy) note("Times are not to be trusted: " + region.result->busy_note + ".");
        if (fused && !region.result->fp64_note.empty())
            note(regionName(region) + ": no error against fp64: " + region.result->fp64_note);
    }
    if (!report.onGpu())
        note("Everything ran on the CPU: that tells of correctness, not of a GPU's speed or savings.");
    else if (!report.same_device && !report.predicted_for.empty())
        note("Predictions are for " + report.predicted_for + ", measured was " + report.device() + ".");
    if (findings.size() > 1) note("Findings overlap: their savings do not add up, the plan's do.");
    std::string text;
    for (const std::string& line : lines) text += "- " + line + "\n";
    return text.empty() ? text : "\n" + text;
}

} // namespace

std::string fuseTable(const FuseReport& report, const Analysis& analysis) {
    Table times(
        {"region", "direction", "baseline", "fused", "speedup", "under a CUDA graph", "speedup", "TB/s", "of roof"},
        {true, true, false, false, false, false, false, false, false});
    Table verdicts({"region", "direction", "speed", "memory", "numerics", "launches", "peak memory",
                    "error against fp64", "largest"},
                   {true, true, true, true, true, false, false, false, false});
    Table steps({"region", "instances", "save together", "predicted for " + report.predicted_for, "take now"},
                {true, false, false, false, false});
    for (const MeasuredRegion& region : report.regions) {
        if (region.result) addTimes(times, verdicts, region, report);
        const auto saving = measuredSavingNs(region, report);
        steps.add({regionName(region), fmt::format("{:g}", region.instances),
                   region.error.empty() ? (saving ? signedTime(*saving) : kNone) : "not measured",
                   region.predicted ? rangeText(region.predicted_saving_ns) : kNone,
                   region.time_ns > 0 ? formatDuration(region.time_ns) : kNone});
    }
    // Several shapes of a finding: together.
    for (const Finding& finding : analysis.findings) {
        double instances = 0, saving = 0, time = 0;
        Range predicted;
        int shapes = 0;
        bool all = true;
        for (const MeasuredRegion& region : report.regions) {
            if (region.finding != finding.id) continue;
            const auto one = measuredSavingNs(region, report);
            all = all && one.has_value();
            ++shapes;
            instances += region.instances;
            saving += one.value_or(0);
            time += region.time_ns;
            predicted.low += region.predicted_saving_ns.low;
            predicted.expected += region.predicted_saving_ns.expected;
            predicted.high += region.predicted_saving_ns.high;
        }
        if (shapes > 1)
            steps.add({fmt::format("{}, {} shapes", finding.id, shapes), fmt::format("{:g}", instances),
                       all ? signedTime(saving) : kNone, rangeText(predicted),
                       time > 0 ? formatDuration(time) : kNone});
    }
    if (const auto plan = planSaving(report, analysis))
        steps.add({"the plan", "", signedTime(plan->measured_ns), rangeText(plan->predicted_ns),
                   analysis.plan.step_ns > 0 ? formatDuration(analysis.plan.step_ns) : kNone});

    std::string text = header(report);
    if (!times.empty()) text += "\n" + times.text() + "\n" + verdicts.text();
    text += std::string("\nPer step") + (report.onGpu() ? "" : ", on the CPU") + "\n" + steps.text();
    text += notes(report);
    return printableText(text); // names come from files and from the runner
}

} // namespace fusescope
