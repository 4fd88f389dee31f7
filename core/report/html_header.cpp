// SPDX-License-Identifier: Apache-2.0
// Top of the page: what was opened, and the few figures that matter.
#include "core/report/html_parts.h"
#include "core/report/report_text.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

namespace fusescope::html {
namespace {

void tile(std::string& out, std::string_view name, const std::string& figure, const std::string& more,
          bool wide = false) {
    out += fmt::format("<div class=\"tile{}\"><div class=\"name\">{}</div><div class=\"figure\">{}</div><div "
                       "class=\"more\">{}</div></div>\n",
                       wide ? " wide" : "", esc(name), esc(figure), esc(more));
}

// "51.0 ms to 58.2 ms predicted", "79.4 ms to 79.5 ms, measured in 3 of 5 findings", "measured".
std::string howSure(const Analysis& analysis, const MeasuredPlan& plan) {
    const Range& after = plan.predicted_step_ns;
    std::string text;
    if (after.high > after.low)
        text = formatDuration(after.low) + " to " + formatDuration(after.high) + (plan.any() ? ", " : " ");
    return text + (plan.any() ? measuredPlanText(analysis, plan) : std::string("predicted"));
}

void stepTiles(const Analysis& a, const MeasuredView& measured, std::string& out) {
    if (a.step < 0 || static_cast<std::size_t>(a.step) >= a.steps.size()) return;
    const StepStats& step = a.steps[static_cast<std::size_t>(a.step)];
    const Plan& plan = measured.plan.plan;
    const Range& after = measured.plan.predicted_step_ns;
    const bool none = measured.plan.regions == 0 && (plan.findings.empty() || nothingSeen(plan));
    const std::string unchanged =
        nothingSeen(plan) ? "nothing of the plan was seen in it" : "no fusion in the plan shortens it";
    if (!a.measured_on.empty()) {
        tile(out, step.name + ", measured on " + a.measured_on, formatDuration(step.wall_ns), "as the trace has it");
        tile(out, step.name + ", estimated for " + a.device.name,
             formatDuration(plan.step_ns) + (none ? std::string() : " → " + formatDuration(after.expected)),
             none ? unchanged : "now and with the plan; " + howSure(a, measured.plan), true);
    } else if (!none && after.expected > 0 && after.expected < step.wall_ns) {
        tile(out, step.name + ", with the plan", formatDuration(step.wall_ns) + " → " + formatDuration(after.expected),
             fmt::format("{} less; {}", shareText(1 - after.expected / step.wall_ns), howSure(a, measured.plan)), true);
    } else {
        tile(out, step.name, formatDuration(step.wall_ns), unchanged);
    }
    tile(out, "GPU busy", shareText(step.wall_ns > 0 ? step.gpu_busy_ns / step.wall_ns : 0),
         fmt::format("{} busy, {} idle", formatDuration(step.gpu_busy_ns), formatDuration(step.gpu_idle_ns)));
    tile(out, "Kernels", formatCount(step.kernels),
         step.launches == 1 ? std::string("1 launch") : formatCount(step.launches) + " launches");
}

} // namespace

void headerSection(const Analysis& a, const MeasuredView& measured, std::string& out) {
    out += "<a class=\"skip\" href=\"#main\">Skip to findings</a><div class=\"top\"><h1>FuseScope report</h1><p "
           "class=\"files\">";
    for (std::size_t i = 0; i < a.files.size(); ++i) {
        if (i > 0) out += " · ";
        out += fmt::format("<span title=\"{}\">{}</span>", esc(a.files[i]), esc(fileName(a.files[i]), 200));
    }
    out += "</p>\n";
    const std::string model = modelText(a.model);
    if (!model.empty()) out += "<p class=\"files\">" + esc(model) + "</p>\n";

    out += "<div class=\"tiles\">\n";
    stepTiles(a, measured, out);
    if (!a.trace && a.model.parameters > 0)
        tile(out, "Parameters", formatCountShort(static_cast<double>(a.model.parameters)),
             formatCount(a.model.parameters));
    if (a.trace) {
        const double share = a.link.kernel_ns > 0 ? a.link.module_ns / a.link.kernel_ns : 0;
        tile(out, "Linked GPU time", shareText(share), "to a module or a named phase");
    }
    tile(out, "Device", a.device.name.empty() ? "unknown" : a.device.name,
         fmt::format("{} · ridge {} FLOP/byte · {}", formatBandwidth(a.device.bandwidth_Bps),
                     formatSignificant(a.device.ridge()),
                     a.device.source == DeviceSource::Trace ? "named in the trace" : nameOf(a.device.source)),
         !a.trace);
    out += "</div>\n";

    const auto note = [&](const std::string& text, bool warning) {
        if (!text.empty())
            out += fmt::format("<div class=\"note{}\"><p>{}</p></div>\n", warning ? " warn" : "", esc(text, 2000));
    };
    const StepStats* step = analysedStep(a);
    note(stepVerdict(a), step != nullptr && step->bound != StepBound::Kernels);
    note(otherDeviceNote(a), true);
    note(stepScopeNote(a), false);
    if (!a.trace)
        out += "<div class=\"note\"><p>Only a model graph was opened. Fusable regions come from its structure and "
               "their times from the roofline of the "
               "device. Open a profiler trace of the same model as well to see measured times, launches and idle "
               "time.</p></div>\n";
    if (!a.graph && a.trace)
        out += "<div class=\"note\"><p>Only a trace was opened. Open the model's <code>.pt2</code> graph as well to "
               "see the regions in the graph, with "
               "their exact shapes and source lines.</p></div>\n";
    if (a.device.source == DeviceSource::Assumed)
        out += "<div class=\"note warn\"><p>The files do not name a device that is known, so the figures of " +
               esc(a.device.name) + " are assumed. Choose yours with <code>--device</code>.</p></div>\n";
    out += "<nav aria-label=\"Sections\"><a href=\"#findings\">Findings</a>";
    if (!measured.regions.empty()) out += "<a href=\"#regions\">Your regions</a>";
    if (a.graph) out += "<a href=\"#graph\">Graph</a>";
    if (a.trace)
        out += "<a href=\"#timeline\">Timeline</a><a href=\"#roofline\">Roofline</a><a href=\"#kernels\">Kernels</a><a "
               "href=\"#operators\">Operators</a>";
    out += "<a href=\"#modules\">Modules</a>";
    if (a.trace) out += "<a href=\"#steps\">Steps</a>";
    out += "<a href=\"#link\">Link and problems</a><a href=\"#method\">Method</a></nav></div>\n";
}

} // namespace fusescope::html
