// SPDX-License-Identifier: Apache-2.0
// The short form, for a merge request or a chat: summary, findings, plan, top kernels, problems.
#include "core/report/own_regions.h"
#include "core/report/report.h"
#include "core/report/report_text.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {

// Text of a file inside of a line of Markdown: nothing in it may become markup, a new cell or a new line.
std::string md(std::string_view text, std::size_t max_bytes = 160) {
    std::string out;
    for (const char c : visibleText(text, max_bytes)) {
        if (std::string_view("\\`*_{}[]<>#|~$").find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return out;
}
std::string code(std::string_view text, std::size_t max_bytes = 120) {
    std::string shown = visibleText(text, max_bytes);
    // Neither a backtick nor a bar can be escaped inside of a code span of a table.
    std::replace(shown.begin(), shown.end(), '`', '\'');
    std::string out = "`";
    for (const char c : shown) {
        if (c == '|')
            out += "\\|";
        else
            out += c;
    }
    return shown.empty() ? std::string() : out + '`';
}

void summary(const Analysis& a, const MeasuredView& measured, std::string& out) {
    if (const std::string verdict = stepVerdict(a); !verdict.empty()) out += "- **" + md(verdict, 800) + "**\n";
    if (const std::string note = otherDeviceNote(a); !note.empty()) out += "- **" + md(note, 800) + "**\n";
    if (const std::string note = stepScopeNote(a); !note.empty()) out += "- " + md(note, 400) + '\n';
    for (const std::string& file : a.files) out += "- File: " + code(fileName(file)) + '\n';
    const std::string model = modelText(a.model);
    if (!model.empty()) out += "- Model: " + md(model, 400) + '\n';
    out += fmt::format("- Device: {}, {}, ridge {} FLOP/byte\n", md(deviceText(a.device)),
                       formatBandwidth(a.device.bandwidth_Bps), formatSignificant(a.device.ridge()));
    if (a.step >= 0 && static_cast<std::size_t>(a.step) < a.steps.size()) {
        const StepStats& s = a.steps[static_cast<std::size_t>(a.step)];
        out += fmt::format("- Step {}{}: **{}**, GPU busy {}, idle {}, {}, {}\n", md(s.name),
                           a.measured_on.empty() ? std::string() : ", measured on " + md(a.measured_on),
                           formatDuration(s.wall_ns), formatDuration(s.gpu_busy_ns), formatDuration(s.gpu_idle_ns),
                           formatCounted(s.kernels, "kernel"),
                           s.launches == 1 ? std::string("1 launch") : formatCount(s.launches) + " launches");
    }
    if (a.trace && a.link.kernel_ns > 0)
        out += fmt::format("- Linked kernel time: {} to an operator, {} to a module or phase{}\n",
                           shareText(a.link.op_ns / a.link.kernel_ns), shareText(a.link.module_ns / a.link.kernel_ns),
                           a.graph ? ", " + shareText(a.link.graph_ns / a.link.kernel_ns) + " to the graph"
                                   : std::string());
    const Plan& plan = measured.plan.plan;
    if (((!plan.findings.empty() && !nothingSeen(plan)) || measured.plan.regions > 0) && plan.step_ns > 0)
        out += fmt::format("- With the plan{}: **{} → {}**{}\n",
                           a.measured_on.empty() ? std::string() : ", both estimated for " + md(a.device.name),
                           formatDuration(plan.step_ns), rangeText(measured.plan.predicted_step_ns),
                           measured.plan.any() ? ", " + md(measuredPlanText(a, measured.plan), 400) : std::string());
    if (!a.trace) out += "- No trace was opened: times are estimates from the roofline\n";
}

void findings(const Analysis& a, const MeasuredView& measured, std::string& out) {
    out += "\n## Findings\n\n";
    if (a.findings.empty()) {
        out += "Nothing that looks fusable was found. Looked for, in unfused form: " + md(searchedText(), 400) + ".\n";
        return;
    }
    out += fmt::format("| finding | verdict | instances | kernels each, on average | time | saving{} | of the step | "
                       "signals |\n|---|---|--:|--:|--:|--:|--:|---|\n",
                       measured.any() ? ", predicted → measured" : "");
    for (const Finding& f : a.findings) {
        std::string signals;
        for (const int s : f.signals) signals += (signals.empty() ? "" : " ") + std::to_string(s);
        const bool fused = f.verdict == Verdict::AlreadyFused;
        const auto& result = measured.findings[static_cast<std::size_t>(&f - a.findings.data())];
        const double share = shareOfStep(a, f, result);
        const std::string run =
            result && result->any()
                ? " → " + (result->saving_ns.expected < 0 ? "slower by " + formatDuration(-result->saving_ns.expected)
                                                          : formatDuration(result->saving_ns.expected))
                : std::string();
        out += fmt::format("| {} {} | {} | {} | {} | {} | {} | {} | {} |\n", md(catalogEntry(f.pattern).title),
                           code(f.id), nameOf(verdictOf(f, result)), f.instances.size(), kernelsText(f), timeText(f),
                           fused || f.pattern == Pattern::Optimizer ? "–" : rangeText(f.saving_ns) + run,
                           share > 0 ? shareText(share) : "–", signals);
    }
    const char* before = "\n";
    for (const Finding& f : a.findings)
        if (!f.headroom.empty())
            out += std::exchange(before, "") + fmt::format("- **{}**, fused already, leaves something: {}\n",
                                                           md(catalogEntry(f.pattern).title), md(f.headroom, 800));
}

void plan(const Analysis& a, const MeasuredView& measured, std::string& out) {
    const Plan& plan = measured.plan.plan;
    if (plan.parts.empty()) return;
    out += "\n## Plan\n\n";
    if (const std::string note = measured.plan.any() ? unseenNote(plan) : planNote(a); !note.empty())
        out += md(note, 800) + "\n\n";
    int n = 0;
    for (const PlanPart& part : plan.parts) {
        const Finding* f = findingById(a, part.finding);
        if (!f) continue;
        const CatalogEntry& entry = catalogEntry(f->pattern);
        const std::string rest = planRestText(a, measured, part);
        out += fmt::format("{}. **{}**, {} of {}: saves {}{}.", ++n, md(entry.title), part.instances.size(),
                           formatCounted(static_cast<std::int64_t>(f->instances.size()), "instance"),
                           rangeText(part.saving_ns), rest.empty() ? rest : " " + md(rest, 400));
        if (!changeText(*f).empty()) out += ' ' + md(changeText(*f), 600);
        out += '\n';
    }
    out += "\nTogether: " + rangeText(plan.saving_ns) + ".\n";
}

void ownRegions(const Analysis& a, const MeasuredView& measured, std::string& out) {
    if (measured.regions.empty()) return;
    out += "\n## Your regions\n\n";
    for (const RegionView& one : measured.regions) {
        out += fmt::format("- **{}** {}, {}: {}", md(one.region->title), code(one.region->id),
                           md(regionKind(*one.region)), md(regionPlace(a, *one.region), 400));
        const char* before = ". ";
        for (const std::string& note : regionNotes(one)) out += std::exchange(before, " ") + md(note, 800);
        out += '\n';
    }
}

void measuredRows(const Analysis& a, const MeasuredView& measured, std::string& out) {
    if (!measured.any()) return;
    out += "\n## Measured\n\n| finding or region | direction | unfused | fused | speedup | under a CUDA graph | TB/s | "
           "of the roof | error against fp64 | verdict |\n|---|---|--:|--:|--:|--:|--:|--:|--:|---|\n";
    std::vector<std::string> lines;
    const auto line = [&](const std::string& text) {
        if (!text.empty() && std::find(lines.begin(), lines.end(), text) == lines.end()) lines.push_back(text);
    };
    const auto rows = [&](const std::string& id, const MeasuredFinding& f, bool promised) {
        const std::string name = code(id);
        if (const std::string both = predictedToMeasured(f, promised); !both.empty())
            line(name + ": " + md(both) + " per step");
        for (const MeasuredClass& one : f.classes) {
            if (one.result == nullptr) continue;
            for (const Comparison& c : one.result->result.directions) {
                const DirectionText t = directionText(a, *one.result, c);
                out += fmt::format("| {} {} | {} | {} | {} | {} | {} | {} | {} | {} | {}, {}, {} |\n", name,
                                   md(one.result->shape), md(c.direction), t.baseline, t.fused, t.speedup, t.graph,
                                   t.rate, t.of_roof, t.error, t.speed, t.memory, t.numerics);
            }
            line("Ran on " + md(ranText(*one.result), 400));
            if (const std::string caveat = caveatText(one, promised); !caveat.empty())
                line(name + ": " + md(caveat, 400));
            if (!one.result->note.empty()) line(name + ": " + md(one.result->note, 400));
        }
    };
    for (std::size_t i = 0; i < a.findings.size(); ++i)
        if (measured.findings[i]) rows(a.findings[i].id, *measured.findings[i], true);
    for (const RegionView& one : measured.regions)
        if (one.measured) rows(one.region->id, *one.measured, one.region->swapsIn());
    out += '\n';
    for (const std::string& text : lines) out += "- " + text + '\n';
}

void kernels(const Analysis& a, std::string& out) {
    if (a.kernels.empty()) return;
    double total = 0;
    for (const KernelSummary& k : a.kernels) total += k.total_ns;
    out += a.all_steps && a.steps.size() > 1 ? "\n## Top kernels (all steps)\n\n" : "\n## Top kernels\n\n";
    out += "| kernel | kind | calls | total | share | mean | launch overhead "
           "|\n|---|---|--:|--:|--:|--:|--:|\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(a.kernels.size(), 10); ++i) {
        const KernelSummary& k = a.kernels[i];
        out +=
            fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", code(telltaleKernelName(k.name), 80), nameOf(k.kind),
                        k.calls, formatDuration(k.total_ns), shareText(total > 0 ? k.total_ns / total : 0),
                        formatDuration(k.calls > 0 ? k.total_ns / k.calls : 0), shareText(k.launch_overhead_share));
    }
}

void problems(const Analysis& a, std::string& out) {
    const std::vector<ProblemLine> lines = problemLines(a);
    if (lines.empty() && a.link.unlinked.empty()) return;
    out += "\n## Problems\n\n";
    for (std::size_t i = 0; i < std::min<std::size_t>(lines.size(), 50); ++i)
        out += fmt::format(
            "- {}{}: {}{}\n", md(lines[i].where), lines[i].where.empty() ? md(lines[i].kind) : ", " + md(lines[i].kind),
            md(lines[i].message, 400), lines[i].count > 1 ? fmt::format(" (×{})", lines[i].count) : std::string());
    for (std::size_t i = 0; i < std::min<std::size_t>(a.link.unlinked.size(), 20); ++i)
        out += fmt::format("- Not linked: {} ({}, {})\n", md(a.link.unlinked[i].reason, 400),
                           formatDuration(a.link.unlinked[i].time_ns),
                           formatCounted(a.link.unlinked[i].kernels, "kernel"));
}

} // namespace

std::string analysisMarkdown(const Analysis& analysis, const MeasuredSet& set, ChosenRegions regions) {
    const MeasuredView measured = viewOf(analysis, set, regions);
    std::string out = "# FuseScope report\n\n";
    summary(analysis, measured, out);
    findings(analysis, measured, out);
    plan(analysis, measured, out);
    ownRegions(analysis, measured, out);
    measuredRows(analysis, measured, out);
    kernels(analysis, out);
    problems(analysis, out);
    return out;
}

} // namespace fusescope
