// SPDX-License-Identifier: Apache-2.0
// What a runner measured of a finding: beside the prediction, which stays readable.
#include "core/report/html_parts.h"

#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusescope::html {
namespace {

void cell(std::string& out, const std::string& text, bool figure = true) {
    out += (figure ? "<td class=\"n\">" : "<td class=\"name\">") + esc(text) + "</td>";
}

void table(const Analysis& a, const MeasuredFinding& f, std::string& out) {
    out += "<div class=\"scroll\"><table><thead><tr><th>Shape</th><th>Direction</th><th class=\"n\">Unfused</th><th "
           "class=\"n\">Fused</th><th class=\"n\">Speedup</th><th class=\"n\">Under a CUDA graph</th><th "
           "class=\"n\">TB/s</th><th class=\"n\">Of the roof</th><th class=\"n\">Error against "
           "fp64</th><th>Verdict</th></tr></thead><tbody>";
    for (const MeasuredClass& one : f.classes) {
        if (one.result == nullptr) continue;
        const std::string shape =
            one.result->shape + (one.result->shape.empty() ? "" : ", ") + fmt::format("{}×", one.of.instances.size());
        bool first = true;
        for (const Comparison& c : one.result->result.directions) {
            const DirectionText text = directionText(a, *one.result, c);
            out += "<tr>";
            cell(out, first ? shape : std::string(), false);
            out += "<td>" + esc(c.direction) + "</td>";
            for (const std::string* figure :
                 {&text.baseline, &text.fused, &text.speedup, &text.graph, &text.rate, &text.of_roof, &text.error})
                cell(out, *figure);
            cell(out, text.speed + ", " + text.memory + ", " + text.numerics, false);
            out += "</tr>";
            first = false;
        }
    }
    out += "</tbody></table></div>\n";
}

} // namespace

std::string measuredCell(const MeasuredFinding& f) {
    const auto muted = [](const std::string& text) { return "<div class=\"muted small\">" + text + "</div>"; };
    if (f.any()) {
        const double saved = f.saving_ns.expected;
        const std::string text = saved < 0 ? "slower by " + formatDuration(-saved) : formatDuration(saved);
        return " → <b>" + esc(text) + "</b>" +
               (f.whole() ? std::string() : muted(fmt::format("{} of {} instances measured", f.measured, f.instances)));
    }
    const auto some = [&f](MeasuredUse use) {
        return std::any_of(f.classes.begin(), f.classes.end(),
                           [use](const MeasuredClass& one) { return one.result != nullptr && one.use == use; });
    };
    return muted(some(MeasuredUse::Cpu)        ? "ran on a CPU alone"
                 : some(MeasuredUse::Unsteady) ? "measured, but in unsteady runs"
                                               : "measured, but not for this step");
}

void measuredSection(const Analysis& a, const MeasuredFinding& f, std::string& out, bool promised) {
    out += "<h4>Measured</h4>";
    if (f.any()) out += "<p><b>" + esc(predictedToMeasured(f, promised)) + " per step.</b></p>";
    std::string told; // devices and caveats of several shapes are mostly the same
    for (const MeasuredClass& one : f.classes) {
        if (one.result == nullptr) continue;
        std::string text = "<p class=\"muted small\">" + esc(ranText(*one.result)) + "</p>";
        if (const std::string caveat = caveatText(one, promised); !caveat.empty())
            text += "<div class=\"note warn\"><p>" + esc(caveat) + "</p></div>";
        if (!one.result->note.empty()) text += "<p>" + esc(one.result->note, 1200) + "</p>";
        if (told.find(text) == std::string::npos) told += text;
    }
    out += told;
    table(a, f, out);
}

} // namespace fusescope::html
