// SPDX-License-Identifier: Apache-2.0
// The short form, for a merge request or a chat: summary, findings, plan, top kernels, problems.
#include "core/report/report.h"
#include "core/report/report_text.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>

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

void summary(const Analysis& a, std::string& out) {
    for (const std::string& file : a.files) out += "- File: " + code(fileName(file)) + '\n';
    const std::string model = modelText(a.model);
    if (!model.empty()) out += "- Model: " + md(model, 400) + '\n';
    out += fmt::format("- Device: {}, {}, ridge {} FLOP/byte\n", md(deviceText(a.device)),
                       formatBandwidth(a.device.bandwidth_Bps), formatSignificant(a.device.ridge()));
    if (a.step >= 0 && static_cast<std::size_t>(a.step) < a.steps.size()) {
        const StepStats& s = a.steps[static_cast<std::size_t>(a.step)];
        out += fmt::format("- Step {}: **{}**, GPU busy {}, idle {}, {} kernels, {} launches\n", md(s.name),
                           formatDuration(s.wall_ns), formatDuration(s.gpu_busy_ns), formatDuration(s.gpu_idle_ns),
                           formatCount(s.kernels), formatCount(s.launches));
    }
    if (a.trace && a.link.kernel_ns > 0)
        out += fmt::format("- Linked kernel time: {} to an operator, {} to a module or phase, {} to the graph\n",
                           shareText(a.link.op_ns / a.link.kernel_ns), shareText(a.link.module_ns / a.link.kernel_ns),
                           shareText(a.link.graph_ns / a.link.kernel_ns));
    if (!a.plan.findings.empty() && a.plan.step_ns > 0)
        out += fmt::format("- With the plan: **{} → {}**\n", formatDuration(a.plan.step_ns),
                           rangeText(a.plan.predicted_step_ns));
    if (!a.trace) out += "- No trace was opened: times are estimates from the roofline\n";
}

void findings(const Analysis& a, std::string& out) {
    out += "\n## Findings\n\n";
    if (a.findings.empty()) {
        out += "Nothing that looks fusable was found.\n";
        return;
    }
    out += "| finding | verdict | instances | kernels each | time | saving | of the step | signals "
           "|\n|---|---|--:|--:|--:|--:|--:|---|\n";
    for (const Finding& f : a.findings) {
        std::string signals;
        for (const int s : f.signals) signals += (signals.empty() ? "" : " ") + std::to_string(s);
        const bool fused = f.verdict == Verdict::AlreadyFused;
        out += fmt::format("| {} {} | {} | {} | {} | {} | {} | {} | {} |\n", md(catalogEntry(f.pattern).title),
                           code(f.id), nameOf(f.verdict), f.instances.size(),
                           f.kernels_now > 0 ? formatMean(f.kernels_now) + " → " + formatMean(f.kernels_fused) : "–",
                           f.time_ns > 0 ? formatDuration(f.time_ns) : "–", fused ? "–" : rangeText(f.saving_ns),
                           f.step_share > 0 ? shareText(f.step_share) : "–", signals);
    }
}

void plan(const Analysis& a, std::string& out) {
    if (a.plan.findings.empty()) return;
    out += "\n## Plan\n\n";
    int n = 0;
    for (const std::string& id : a.plan.findings) {
        const Finding* f = findingById(a, id);
        if (!f) continue;
        const CatalogEntry& entry = catalogEntry(f->pattern);
        out += fmt::format("{}. **{}**: saves {}.", ++n, md(entry.title), rangeText(f->saving_ns));
        if (!entry.change.empty()) out += ' ' + md(entry.change, 600);
        if (!f->reasons.empty()) out += " (" + md(f->reasons.front(), 400) + ')';
        out += '\n';
    }
}

void kernels(const Analysis& a, std::string& out) {
    if (a.kernels.empty()) return;
    double total = 0;
    for (const KernelSummary& k : a.kernels) total += k.total_ns;
    out += "\n## Top kernels\n\n| kernel | kind | calls | total | share | mean | launch overhead "
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
        out += fmt::format("- Not linked: {} ({}, {} kernels)\n", md(a.link.unlinked[i].reason, 400),
                           formatDuration(a.link.unlinked[i].time_ns), a.link.unlinked[i].kernels);
}

} // namespace

std::string analysisMarkdown(const Analysis& analysis) {
    std::string out = "# FuseScope report\n\n";
    summary(analysis, out);
    findings(analysis, out);
    plan(analysis, out);
    kernels(analysis, out);
    problems(analysis, out);
    return out;
}

} // namespace fusescope
