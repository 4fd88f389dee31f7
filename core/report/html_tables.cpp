// SPDX-License-Identifier: Apache-2.0
#include "core/report/html_parts.h"

#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusescope::html {
namespace {

constexpr std::size_t kKernels = 30, kOps = 40, kModules = 400;

void more(std::string& out, std::size_t shown, std::size_t all) {
    if (shown < all)
        out += fmt::format(
            "<p class=\"muted small\">The {} that take longest, of {}; the rest is in the JSON output.</p>\n", shown,
            formatCount(static_cast<std::int64_t>(all)));
}

void kernelTable(const Analysis& a, std::string& out) {
    double total = 0;
    for (const KernelSummary& k : a.kernels) total += k.total_ns;
    out += "<h2 id=\"kernels\">Kernels</h2>\n<div class=\"scroll\"><table><thead><tr><th>Kernel</th><th>Kind</th><th "
           "class=\"n\">Calls</th>"
           "<th class=\"n\">Total</th><th>Share</th><th class=\"n\">Mean</th><th class=\"n\">Min</th><th "
           "class=\"n\">Max</th>"
           "<th class=\"n\">Launch overhead</th></tr></thead><tbody>";
    const std::size_t shown = std::min(a.kernels.size(), kKernels);
    for (std::size_t i = 0; i < shown; ++i) {
        const KernelSummary& k = a.kernels[i];
        out += fmt::format(
            "<tr><td class=\"name\"><span title=\"{}\">{}{}</span></td><td>{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td>{}</td>"
            "<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            esc(k.name, 2000), kindDot(k.kind), esc(telltaleKernelName(k.name), 160), esc(nameOf(k.kind)),
            formatCount(k.calls), formatDuration(k.total_ns), shareBar(total > 0 ? k.total_ns / total : 0),
            formatDuration(k.calls > 0 ? k.total_ns / k.calls : 0), formatDuration(k.min_ns), formatDuration(k.max_ns),
            percent(k.launch_overhead_share));
    }
    out += "</tbody></table></div>\n";
    more(out, shown, a.kernels.size());
}

void opTable(const Analysis& a, std::string& out) {
    double total = 0;
    for (const OpSummary& o : a.ops) total += o.time_ns;
    out += "<h2 id=\"operators\">Operators</h2>\n<div "
           "class=\"scroll\"><table><thead><tr><th>Operator</th><th>Module</th><th>Direction</th><th "
           "class=\"n\">Calls</th>"
           "<th class=\"n\">Kernels</th><th class=\"n\">Time</th><th>Share</th><th class=\"n\">FLOP/byte</th><th "
           "class=\"n\">Compute</th>"
           "<th class=\"n\">Bandwidth</th><th>Bound</th></tr></thead><tbody>";
    const std::size_t shown = std::min(a.ops.size(), kOps);
    for (std::size_t i = 0; i < shown; ++i) {
        const OpSummary& o = a.ops[i];
        const std::string formula =
            o.cost.formula && *o.cost.formula ? " title=\"FLOPs: " + esc(o.cost.formula) + "\"" : std::string();
        out += fmt::format(
            "<tr><td class=\"name\">{}{}</td><td class=\"name\">{}</td><td>{}</td><td class=\"n\">{}</td><td "
            "class=\"n\">{}</td><td class=\"n\">{}</td>"
            "<td>{}</td><td class=\"n\"{}>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
            kindDot(o.kind), esc(o.op, 160), esc(orDash(o.module_type), 160), esc(nameOf(o.direction)),
            formatCount(o.calls), formatCount(o.kernels_count), formatDuration(o.time_ns),
            shareBar(total > 0 ? o.time_ns / total : 0), formula,
            o.intensity() > 0 ? formatSignificant(o.intensity()) : "–",
            o.achievedFlops() > 0 ? formatFlopRate(o.achievedFlops()) : "–",
            o.achievedBps() > 0 ? formatBandwidth(o.achievedBps()) : "–", boundBadge(o.bound));
    }
    out += "</tbody></table></div>\n";
    more(out, shown, a.ops.size());
}

int depthOf(const ModuleTree& tree, ModuleId id) {
    int depth = 0;
    for (ModuleId at = tree.at(id).parent; at.valid() && at.index() < tree.modules.size() && depth < 64;
         at = tree.at(at).parent)
        ++depth;
    return depth;
}

// Identical siblings are shown once, as in the graph.
bool folded(const ModuleTree& tree, ModuleId id) {
    for (ModuleId at = id; at.valid() && at.index() < tree.modules.size(); at = tree.at(at).parent) {
        const std::uint32_t group = tree.at(at).fold_group;
        if (group < tree.folds.size() && !tree.folds[group].members.empty() && tree.folds[group].members.front() != at)
            return true;
    }
    return false;
}

void moduleTable(const Analysis& a, std::string& out) {
    const ModuleTree& tree = a.link.modules;
    out += "<h2 id=\"modules\">Modules</h2>\n";
    if (tree.modules.size() <= 1) {
        out += "<div class=\"note\"><p>The files name no modules. Record the trace with <code>with_stack=True</code> "
               "or open the model's <code>.pt2</code> graph.</p></div>\n";
        return;
    }
    out += "<div class=\"scroll\"><table><thead><tr><th>Module</th><th>Class</th><th>Output</th><th "
           "class=\"n\">Parameters</th><th class=\"n\">FLOPs, forward</th>";
    if (a.trace) out += "<th class=\"n\">Forward</th><th class=\"n\">Backward</th><th>Share</th>";
    out += "</tr></thead><tbody>";
    // Depth first in order of execution, so that a child stands below its parent whatever the order of the table.
    std::vector<ModuleId> stack{ModuleId(0)};
    std::size_t shown = 0;
    while (!stack.empty() && shown < kModules) {
        const ModuleId id = stack.back();
        stack.pop_back();
        if (id.index() >= tree.modules.size() || id.index() >= a.modules.size() || folded(tree, id)) continue;
        const Module& m = tree.at(id);
        const ModuleStats& s = a.modules[id.index()];
        std::string name = m.name.empty() ? (m.type.empty() ? "model" : m.type) : m.name;
        if (m.fold_group < tree.folds.size())
            name += fmt::format(" (1 of {} alike)", tree.folds[m.fold_group].members.size());
        out += fmt::format("<tr><td class=\"name\" style=\"padding-left:{}px\" title=\"{}\">{}</td><td>{}</td><td "
                           "class=\"mono\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
                           12 + 16 * depthOf(tree, id), esc(m.path), esc(name, 200), esc(orDash(m.type), 200),
                           esc(orDash(s.output_shape), 200), s.parameters > 0 ? formatCount(s.parameters) : "–",
                           s.flops > 0 ? formatFlops(s.flops) : "–");
        if (a.trace)
            out += fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>",
                               s.forward_ns > 0 ? formatDuration(s.forward_ns) : "–",
                               s.backward_ns > 0 ? formatDuration(s.backward_ns) : "–", shareBar(s.share));
        out += "</tr>\n";
        ++shown;
        for (auto child = m.children.rbegin(); child != m.children.rend(); ++child) stack.push_back(*child);
    }
    out += "</tbody></table></div>\n";
}

void stepTable(const Analysis& a, std::string& out) {
    out +=
        "<h2 id=\"steps\">Steps</h2>\n<div class=\"scroll\"><table><thead><tr><th>Step</th><th "
        "class=\"n\">Length</th><th class=\"n\">GPU busy</th><th class=\"n\">GPU idle</th>"
        "<th class=\"n\">Kernel time</th><th class=\"n\">Kernels</th><th class=\"n\">Launches</th></tr></thead><tbody>";
    for (std::size_t i = 0; i < std::min<std::size_t>(a.steps.size(), 200); ++i) {
        const StepStats& s = a.steps[i];
        out += fmt::format("<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
                           "class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                           esc(s.name),
                           static_cast<std::int64_t>(i) == a.step ? " <span class=\"muted\">(analysed)</span>" : "",
                           formatDuration(s.wall_ns), formatDuration(s.gpu_busy_ns), formatDuration(s.gpu_idle_ns),
                           formatDuration(s.kernel_ns), formatCount(s.kernels), formatCount(s.launches));
    }
    out += "</tbody></table></div>\n";
}

} // namespace

void tablesSection(const Analysis& a, std::string& out) {
    if (a.trace) {
        kernelTable(a, out);
        opTable(a, out);
    }
    moduleTable(a, out);
    if (a.trace) stepTable(a, out);
}

} // namespace fusescope::html
