// SPDX-License-Identifier: Apache-2.0
#include "core/report/fuse_report.h"

#include "core/base/format.h"
#include "core/base/printable.h"
#include "core/report/measured_parts.h"
#include "core/report/report_text.h"

#include <fmt/format.h>

#include <algorithm>
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

std::string savedText(double ns, bool steady) { return signedTime(ns) + (steady ? "" : " (unsteady)"); }
bool isSteady(const MeasuredRegion& region) { return !region.result || doubtText(region.result->result).empty(); }

void addTimes(Table& times, Table& verdicts, const MeasuredRegion& region, const Analysis& analysis) {
    const std::vector<Comparison>& directions = region.result->result.directions;
    for (const Comparison& one : directions) {
        const DirectionText text = directionText(analysis, *region.result, one);
        const std::string name = &one == &directions.front() ? regionName(region) : std::string();
        times.add({name, one.direction, text.baseline, text.fused, text.speedup, text.graph, text.graph_speedup,
                   text.rate, text.of_roof});
        verdicts.add({name, one.direction, text.speed, text.memory, text.numerics, text.launches, text.peak, text.error,
                      text.largest_error});
    }
}

std::string notes(const FuseReport& report) {
    std::vector<std::string> lines;
    std::set<std::string> findings; // measured ones
    const auto note = [&](const std::string& text) {
        if (std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(text);
    };
    for (const MeasuredRegion& region : report.regions) {
        // Its id is a number: what it is stands here.
        if (region.pattern == "selection") note(regionName(region) + ": " + region.title + ".");
        if (!region.error.empty()) note(regionName(region) + ": " + region.error);
        if (!region.reason.empty()) note(regionName(region) + ": " + region.reason);
        if (!region.result) continue;
        if (!region.finding.empty()) findings.insert(region.finding);
        const FuseResult& result = region.result->result;
        if (result.busy) note("Times are not to be trusted: " + result.busy_note + ".");
        if (const std::string doubt = doubtText(result); !doubt.empty())
            note(regionName(region) + ": runs too few or too different to tell a speedup or a saving (" + doubt + ").");
        if (hasFusedForm(result) && !result.fp64_note.empty())
            note(regionName(region) + ": no error against fp64: " + result.fp64_note);
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
        if (region.result) addTimes(times, verdicts, region, analysis);
        const auto saving = measuredSavingNs(region, analysis);
        std::string saved = region.error.empty() ? kNone : "not measured";
        if (saving) saved = savedText(*saving, isSteady(region));
        steps.add({regionName(region), fmt::format("{:g}", region.instances), saved,
                   region.predicted ? rangeText(region.predicted_saving_ns) : kNone,
                   region.time_ns > 0 ? formatDuration(region.time_ns) : kNone});
    }
    // Several shapes of a finding: together.
    for (const Finding& finding : analysis.findings) {
        double instances = 0, saving = 0, time = 0;
        Range predicted;
        int shapes = 0;
        bool all = true, steady = true;
        for (const MeasuredRegion& region : report.regions) {
            if (region.finding != finding.id) continue;
            const auto one = measuredSavingNs(region, analysis);
            all = all && one.has_value();
            steady = steady && isSteady(region);
            ++shapes;
            instances += region.instances;
            saving += one.value_or(0);
            time += region.time_ns;
            predicted += region.predicted_saving_ns;
        }
        if (shapes > 1)
            steps.add({fmt::format("{}, {} shapes", finding.id, shapes), fmt::format("{:g}", instances),
                       all ? savedText(saving, steady) : kNone, rangeText(predicted),
                       time > 0 ? formatDuration(time) : kNone});
    }
    const MeasuredPlan plan = applyMeasured(analysis, measuredSet(report));
    if (plan.whole())
        steps.add({"the plan", "", signedTime(plan.saving_ns.expected), rangeText(analysis.plan.saving_ns),
                   analysis.plan.step_ns > 0 ? formatDuration(analysis.plan.step_ns) : kNone});

    std::string text = header(report);
    if (!times.empty()) text += "\n" + times.text() + "\n" + verdicts.text();
    text += std::string("\nPer step") + (report.onGpu() ? "" : ", on the CPU") + "\n" + steps.text();
    text += notes(report);
    return printableText(text); // names come from files and from the runner
}

} // namespace fusescope
