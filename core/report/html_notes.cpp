// SPDX-License-Identifier: Apache-2.0
// What the reader has to know before trusting the figures: how much could be linked, what was damaged, how it was
// reckoned.
#include "core/report/html_parts.h"
#include "core/report/report_text.h"

#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusescope::html {

void linkSection(const Analysis& a, std::string& out) {
    out += "<h2 id=\"link\">Link and problems</h2>\n";
    if (a.trace) {
        const auto share = [&](double ns) { return a.link.kernel_ns > 0 ? ns / a.link.kernel_ns : 0; };
        out += fmt::format("<p>Of {} kernel time in the trace:</p>\n", esc(formatDuration(a.link.kernel_ns)));
        out += "<div class=\"scroll\"><table><thead><tr><th>Linked to</th><th>Share of kernel "
               "time</th></tr></thead><tbody>";
        out += fmt::format(
            "<tr><td>an operator</td><td>{}</td></tr><tr><td>a module or a named phase</td><td>{}</td></tr>",
            shareBar(share(a.link.op_ns)), shareBar(share(a.link.module_ns)));
        if (a.graph)
            out += fmt::format("<tr><td>a node of the graph</td><td>{}</td></tr>", shareBar(share(a.link.graph_ns)));
        out += "</tbody></table></div>\n";
        if (!a.link.unlinked.empty()) {
            out += "<h4>Not linked</h4><div class=\"scroll\"><table><thead><tr><th>Reason</th><th "
                   "class=\"n\">Time</th><th class=\"n\">Kernels</th></tr></thead><tbody>";
            for (std::size_t i = 0; i < std::min<std::size_t>(a.link.unlinked.size(), 50); ++i) {
                const Unlinked& u = a.link.unlinked[i];
                out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>", esc(u.reason),
                                   formatDuration(u.time_ns), formatCount(u.kernels));
            }
            out += "</tbody></table></div>\n";
        }
    }
    const std::vector<ProblemLine> problems = problemLines(a);
    if (problems.empty()) {
        out += "<p class=\"muted\">No problems in the files.</p>\n";
        return;
    }
    out += "<h4>Problems in the files</h4><div class=\"scroll\"><table><thead><tr><th>Problem</th><th "
           "class=\"n\">Count</th><th>What it means</th><th>File</th></tr></thead><tbody>";
    for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 200); ++i) {
        const ProblemLine& p = problems[i];
        out += fmt::format(
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"name\">{}</td><td class=\"name\">{}</td></tr>",
            esc(p.kind), formatCount(static_cast<std::int64_t>(p.count)), esc(p.message, 1200), esc(p.where));
    }
    out += "</tbody></table></div>\n";
}

void methodSection(const Analysis& a, const MeasuredView& measured, std::string& out) {
    out += "<h2 id=\"method\">How these figures were made</h2>\n<ul>";
    for (const std::string& note : methodNotes(a, measured)) out += "<li>" + esc(note, 2000) + "</li>";
    out += "</ul>\n";
}

} // namespace fusescope::html
