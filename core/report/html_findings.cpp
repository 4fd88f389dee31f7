// SPDX-License-Identifier: Apache-2.0
// The plan, and one card for each finding.
#include "core/report/html_parts.h"
#include "core/report/report_text.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusescope::html {
namespace {

constexpr std::size_t kLongList = 8; // the rest folds away

void list(std::string& out, std::string_view title, const std::vector<std::string>& items, bool code = false) {
    if (items.empty()) return;
    out += fmt::format("<h4>{}</h4><ul>", title);
    const auto item = [&](const std::string& text) {
        out += code ? "<li><code>" + esc(text) + "</code></li>" : "<li>" + esc(text, 1200) + "</li>";
    };
    const std::size_t shown = items.size() > kLongList + 2 ? kLongList : items.size();
    for (std::size_t i = 0; i < shown; ++i) item(items[i]);
    out += "</ul>";
    if (shown == items.size()) return;
    out += fmt::format("<details><summary>{} more</summary><ul>", items.size() - shown);
    for (std::size_t i = shown; i < std::min(items.size(), shown + 200); ++i) item(items[i]);
    out += "</ul></details>";
}

void fact(std::string& out, std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format("<div><span>{}</span><b>{}</b></div>", name, esc(value));
}

// Time now as the whole bar; what stays, what is saved, and how far both may be off.
void timeBar(double now_ns, const Range& fused_ns, std::string_view how, std::string& out) {
    if (!(now_ns > 0)) return;
    const auto width = [&](double ns) { return std::clamp(ns / now_ns * 100, 0.0, 100.0); };
    const double now = 100, after = width(fused_ns.expected);
    const double low = width(std::min(fused_ns.low, fused_ns.high)),
                 high = width(std::max(fused_ns.low, fused_ns.high));
    out += fmt::format("<div class=\"bar\" role=\"img\" aria-label=\"{} now, {} {}\"><i class=\"after\" "
                       "style=\"width:{:.2f}%\"></i>"
                       "<i class=\"saved\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>",
                       esc(formatDuration(now_ns)), esc(formatDuration(fused_ns.expected)), how, after, after,
                       std::max(0.0, now - after));
    if (high - low > 0.4)
        out += fmt::format("<i class=\"range\" style=\"left:{:.2f}%;width:{:.2f}%\"></i>", low, high - low);
    out += "</div>";
}

std::string shapesText(const Finding& f) {
    std::vector<std::string> shapes;
    for (const Instance& i : f.instances)
        if (!i.shape.empty() && std::find(shapes.begin(), shapes.end(), i.shape) == shapes.end())
            shapes.push_back(i.shape);
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(shapes.size(), 3); ++i) text += (i > 0 ? ", " : "") + shapes[i];
    if (shapes.size() > 3) text += fmt::format(" and {} more", shapes.size() - 3);
    return text;
}

std::string anchor(const std::string& id) {
    std::string text = "f-";
    for (const char c : id.substr(0, 64))
        text += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ? c : '-';
    return text;
}

void card(const Analysis& a, const Finding& f, const std::optional<MeasuredFinding>& measured, std::string& out) {
    const CatalogEntry& entry = catalogEntry(f.pattern);
    const Verdict verdict = verdictOf(f, measured);
    const bool pays = verdict == Verdict::WorthIt || verdict == Verdict::Marginal;
    const bool run = measured && measured->any(); // then it counts, not what was predicted
    const Range saving = savingOf(f, measured);
    const Range fused = run ? measured->fused_ns : f.predicted_ns;
    const double now = run ? measured->now_ns : f.time_ns;
    const double share = shareOfStep(a, f, measured);
    out += fmt::format("<article class=\"card{}\" id=\"{}\"><header><h3>{}</h3>{}<span class=\"muted small\">{}</span>",
                       pays ? " marked" : "", anchor(f.id), esc(entry.title), badge(verdict), esc(f.id));
    if ((pays || run) && saving.expected > 0)
        out +=
            fmt::format("<span class=\"gain\">saves {}{}{}</span>", esc(formatDuration(saving.expected)),
                        run ? ", measured" : "", share > 0 ? " · " + percent(share) + " of the step" : std::string());
    else if (run)
        out += "<span class=\"gain\">measured: saves nothing</span>";
    else if (f.headroom_ns > 0)
        out += "<span class=\"muted small\">up to " + esc(formatDuration(f.headroom_ns)) + " a step left</span>";
    out += "</header>";
    if (!entry.formula.empty()) out += "<p class=\"formula\"><code>" + esc(entry.formula) + "</code></p>";

    if (f.verdict != Verdict::AlreadyFused && f.pattern != Pattern::Optimizer) {
        timeBar(now, fused, run ? "measured" : "predicted", out);
        out += fmt::format(
            "<div class=\"legend\"><span>now <b>{}</b></span><span>fused{} <b>{}</b></span><span>saving{} "
            "<b>{}</b>{}</span></div>",
            esc(formatDuration(now)), run ? ", measured" : "", esc(rangeText(fused)), run ? ", measured" : "",
            esc(saving.expected < 0 ? signedTime(saving.expected) : rangeText(saving)),
            !f.time_estimated   ? ""
            : !run              ? " – all times from the roofline, none measured"
            : measured->whole() ? " – times as the runner launched both forms"
                                : " – times as the runner launched both forms, or from the roofline");
    }
    out += "<div class=\"facts\">";
    fact(out, a.trace && !f.time_estimated ? "Instances per step" : "Instances in the graph",
         formatCount(static_cast<std::int64_t>(f.instances.size())));
    if (f.kernels_now > 0) fact(out, "Kernels per instance, on average", kernelsText(f));
    if (f.bytes_now > 0) fact(out, "Traffic per step", formatBytes(f.bytes_now) + " → " + formatBytes(f.bytes_fused));
    if (f.time_ns > 0) fact(out, f.time_estimated ? "Time, estimated" : "Time per step", timeText(f));
    fact(out, "Shapes", shapesText(f));
    fact(out, "Rounding", entry.numerics);
    if (!entry.article_gain.empty()) fact(out, "Usual gain", entry.article_gain);
    out += "</div>";

    if (measured) measuredSection(a, *measured, out);
    out += "<div class=\"cols\"><div>";
    if (!f.signals.empty()) {
        out += "<h4>Signals</h4><ul>";
        for (std::size_t i = 0; i < f.signals.size(); ++i) {
            out += fmt::format("<li><b>{}. {}</b>", f.signals[i], signalName(f.signals[i]));
            if (i < f.signal_evidence.size()) out += ": " + esc(f.signal_evidence[i], 1200);
            out += "</li>";
        }
        out += "</ul>";
    }
    list(out, run ? "Why this prediction" : "Why this verdict", f.reasons);
    out += "</div><div>";
    // Neither advice nor a way there for what is fused already.
    const bool open = f.state != FusionState::Fused;
    if (!changeText(f).empty()) out += "<h4>What to change</h4><p>" + esc(changeText(f), 2000) + "</p>";
    if (open && (!entry.before.empty() || !entry.after.empty())) {
        out += "<h4>Before and after</h4><ul>";
        if (!entry.before.empty()) out += "<li>now: " + esc(entry.before, 1200) + "</li>";
        if (!entry.after.empty()) out += "<li>fused: " + esc(entry.after, 1200) + "</li>";
        out += "</ul>";
    }
    if (open && !entry.existing.empty()) {
        out += "<h4>Ready-made</h4><ul>";
        for (const ExistingSolution& e : entry.existing)
            out += "<li><b>" + esc(e.name) + "</b> – " + esc(e.note) + "</li>";
        out += "</ul>";
    }
    list(out, "Modules", f.modules, true);
    list(out, "Source", f.source, true);
    if (!f.conflicts.empty()) {
        out += "<h4>Shares kernels with</h4><p>";
        for (std::size_t i = 0; i < f.conflicts.size(); ++i)
            out +=
                fmt::format("{}<a href=\"#{}\">{}</a>", i > 0 ? ", " : "", anchor(f.conflicts[i]), esc(f.conflicts[i]));
        out += "</p>";
    }
    out += "</div></div></article>\n";
}

void planTable(const Analysis& a, const MeasuredView& measured, std::string& out) {
    out += "<div class=\"scroll\"><table><thead><tr><th>Finding</th><th>Verdict</th><th class=\"n\">Instances</th><th "
           "class=\"n\" title=\"on average\">Kernels each</th>"
           "<th class=\"n\">Time</th><th class=\"n\">Fused</th><th>";
    out += measured.any() ? "Saving, predicted → measured" : "Saving";
    out += "</th><th class=\"n\">Of the step</th><th class=\"n\">In the plan</th><th class=\"n\">Saving in the "
           "plan</th></tr></thead><tbody>";
    double most = 0;
    for (std::size_t i = 0; i < a.findings.size(); ++i)
        most = std::max(most, savingOf(a.findings[i], measured.findings[i]).expected);
    for (const Finding& f : a.findings) {
        const PlanPart* part = planPartOf(measured.plan.plan, f.id);
        const std::string rest = part != nullptr ? planRestText(a, measured, *part) : std::string();
        const auto& result = measured.findings[static_cast<std::size_t>(&f - a.findings.data())];
        const double share = shareOfStep(a, f, result), saving = std::max(0.0, savingOf(f, result).expected);
        const bool run = result && result->any();
        out += fmt::format(
            "<tr><td class=\"nowrap\"><a href=\"#{}\">{}</a></td><td>{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td class=\"n\">{}</td>"
            "<td class=\"n\">{}</td><td class=\"nowrap\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td></tr>",
            anchor(f.id), esc(catalogEntry(f.pattern).title), badge(verdictOf(f, result)),
            formatCount(static_cast<std::int64_t>(f.instances.size())), kernelsText(f),
            esc(run && f.time_estimated ? formatDuration(result->now_ns) : timeText(f)),
            f.verdict == Verdict::AlreadyFused
                ? "–"
                : formatDuration(run ? result->fused_ns.expected : f.predicted_ns.expected),
            f.verdict == Verdict::AlreadyFused || !(most > 0)
                ? "–"
                : fmt::format("<span class=\"share wide\"><i style=\"width:{:.1f}%\"></i></span><b>{}</b>{}",
                              saving / most * 100, formatDuration(f.saving_ns.expected),
                              result ? measuredCell(*result) : std::string()),
            share > 0 ? percent(share) : "–",
            part != nullptr       ? fmt::format("{} of {}", part->instances.size(), f.instances.size())
            : f.conflicts.empty() ? std::string()
                                  : std::string("overlaps"),
            part == nullptr
                ? std::string()
                : "<b>" + formatDuration(part->saving_ns.expected) + "</b>" +
                      (rest.empty() ? std::string() : "<div class=\"muted small\">" + esc(rest) + "</div>"));
    }
    out += "</tbody>";
    if (!measured.plan.plan.parts.empty())
        out +=
            fmt::format("<tfoot><tr><td colspan=\"9\">The plan, no kernel counted twice</td><td class=\"n\"><b>{}</b>"
                        "</td></tr></tfoot>",
                        formatDuration(measured.plan.plan.saving_ns.expected));
    out += "</table></div>\n";
}

} // namespace

void findingsSection(const Analysis& a, const MeasuredView& measured, std::string& out) {
    const Plan& plan = measured.plan.plan;
    out += "<h2 id=\"findings\">Findings</h2>\n";
    if (a.findings.empty()) {
        out += "<div class=\"note\"><p>Nothing that looks fusable was found. Looked for, in unfused form: " +
               esc(searchedText()) +
               ". If you expected a finding, look at the "
               "link shares and problems below: "
               "kernels that cannot be linked to an operator cannot be matched.</p></div>\n";
        return;
    }
    if (nothingSeen(plan))
        out += "<p>" + esc(unseenNote(plan)) + "</p>\n";
    else if (!plan.findings.empty() && plan.step_ns > 0)
        out += fmt::format(
            "<p>Carrying out the plan – {}, no kernel counted twice – should take the step{} from "
            "<b>{}</b> to <b>{}</b>{}. {}</p>\n",
            plan.findings.size() == 1 ? std::string("one finding") : fmt::format("{} findings", plan.findings.size()),
            a.measured_on.empty() ? std::string() : " on " + esc(a.device.name) + ", both figures estimated,",
            esc(formatDuration(plan.step_ns)), esc(rangeText(measured.plan.predicted_step_ns)),
            measured.plan.any() ? " – " + esc(measuredPlanText(a, measured.plan)) : std::string(),
            esc(measured.plan.any() ? unseenNote(plan) : planNote(a)));
    planTable(a, measured, out);
    // What pays comes first; the rest is there to be looked up.
    std::string rest;
    std::size_t others = 0;
    for (std::size_t i = 0; i < a.findings.size(); ++i) {
        const Finding& f = a.findings[i];
        const Verdict verdict = verdictOf(f, measured.findings[i]);
        if (verdict == Verdict::WorthIt || verdict == Verdict::Marginal || !f.headroom.empty() ||
            planPartOf(plan, f.id) != nullptr)
            card(a, f, measured.findings[i], out);
        else {
            card(a, f, measured.findings[i], rest);
            ++others;
        }
    }
    if (others > 0)
        out += fmt::format("<details><summary>{} that would not pay or are fused already</summary>{}</details>\n",
                           others, rest);
}

} // namespace fusescope::html
