// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_tip.h"

#include "core/base/format.h"
#include "core/draw/text_fit.h"
#include "core/ipc/fuse_verdict.h"
#include "core/measured/moves.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QCoreApplication>

#include <algorithm>

namespace fusescope {
namespace {

QString tr(const char* words) { return QCoreApplication::translate("fusescope::GraphTip", words); }
QString valueTip(const OpGraph& graph, ValueId id, bool input) {
    TipLines lines;
    if (!id.valid() || id.index() >= graph.values.size()) return {};
    const Value& value = graph.at(id);
    lines.add(tr("Shape"), tipShape(value.meta));
    const std::size_t uses = graph.consumersOf(id).size();
    if (input) lines.add(tr("Used by"), uses == 1 ? tr("1 operator") : tr("%1 operators").arg(uses));
    return lines.under((input ? tr("Input") : tr("Output")) + QChar(u' ') + tipText(graph.strings.view(value.name)));
}

QString opTip(const Analysis& analysis, NodeId id) {
    const OpGraph& graph = analysis.graph->ops;
    if (!id.valid() || id.index() >= graph.nodes.size()) return {};
    const Node& node = graph.at(id);
    TipLines lines;
    lines.add(tr("Operator"), tipText(graph.strings.view(node.target)));
    QString inputs;
    for (std::size_t i = 0; i < 4; ++i) {
        const ValueId operand = graph.operand(id, i);
        if (!operand.valid()) break;
        if (!inputs.isEmpty()) inputs += QStringLiteral(", ");
        inputs += tipShape(graph.at(operand).meta);
    }
    lines.add(tr("Inputs"), inputs);
    if (node.outputs > 0) lines.add(tr("Output"), tipShape(graph.at(graph.output(id)).meta));
    if (node.module.valid() && node.module.index() < analysis.graph->modules.modules.size())
        lines.add(tr("Module"), tipText(analysis.graph->modules.at(node.module).path));
    const QString source = tipText(graph.sourceLine(id)), code = tipText(graph.sourceText(id));
    lines.add(tr("Source"),
              code.isEmpty() ? source : source + QStringLiteral("<br/><code>") + code + QStringLiteral("</code>"));
    if (analysis.trace && !analysis.link.node_start.empty()) {
        double ns = 0;
        int kernels = 0;
        for (const KernelId kernel : analysis.link.kernelsOf(id)) {
            if (kernel.index() >= analysis.op_of_kernel.size() || analysis.op_of_kernel[kernel.index()] < 0) continue;
            ns +=
                static_cast<double>(analysis.trace->slices.dur[analysis.trace->kernels.slice[kernel.index()].index()]);
            ++kernels;
        }
        const QString time = text(formatDuration(ns));
        if (kernels > 0)
            lines.add(tr("Measured"),
                      kernels == 1 ? tr("%1 in 1 kernel").arg(time) : tr("%1 in %2 kernels").arg(time).arg(kernels));
    }
    return lines.under(tipText(graph.name(id)));
}

} // namespace

QString moduleTip(const Analysis& analysis, ModuleId id, std::uint32_t repeat) {
    if (!analysis.graph || !id.valid() || id.index() >= analysis.graph->modules.modules.size()) return {};
    const Module& module = analysis.graph->modules.at(id);
    TipLines lines;
    if (repeat > 1) lines.add(tr("Stands for"), tr("%1 identical modules; figures are of the first").arg(repeat));
    lines.add(tr("Class"), tipText(module.type));
    const std::int64_t parameters = analysis.graph->modules.parameterCount(id);
    if (parameters > 0)
        lines.add(tr("Parameters"), text(formatCountShort(static_cast<double>(parameters))) + QStringLiteral(" (") +
                                        text(formatCount(parameters)) + QChar(u')'));
    if (id.index() < analysis.modules.size()) {
        const ModuleStats& stats = analysis.modules[id.index()];
        if (stats.flops > 0) lines.add(tr("FLOPs"), text(formatFlops(stats.flops)) + QChar(u' ') + tr("forward"));
        if (stats.forward_ns + stats.backward_ns > 0) {
            lines.add(tr("Time"),
                      tr("%1 forward, %2 backward")
                          .arg(text(formatDuration(stats.forward_ns)), text(formatDuration(stats.backward_ns))));
            lines.add(tr("Share"), tr("%1 of the step's kernel time").arg(text(formatPercent(stats.share))));
        }
        lines.add(tr("Output"), tipText(stats.output_shape));
    }
    return lines.under(module.path.empty()
                           ? tipText(module.type.empty() ? std::string_view("model") : std::string_view(module.type))
                           : tipText(module.path));
}

QString nodeTip(const Analysis& analysis, const VisibleNode& node) {
    if (!analysis.graph) return {};
    switch (node.kind) {
    case VisibleKind::Module: return moduleTip(analysis, node.module, node.repeat);
    case VisibleKind::Op: return opTip(analysis, node.node);
    case VisibleKind::Input: return valueTip(analysis.graph->ops, node.value, true);
    case VisibleKind::Output: return valueTip(analysis.graph->ops, node.value, false);
    }
    return {};
}

QString fusedTip(const Analysis& analysis, const FusedGroup& group, const MeasuredSet& measured) {
    const Finding& finding = *workOf(analysis, group);
    const MeasuredResult* result = nullptr;
    for (const InstanceClass& one : instanceClasses(analysis, finding))
        if (std::binary_search(one.instances.begin(), one.instances.end(), group.instance))
            result = measured.find(finding.id, one.name);
    if (result == nullptr) return {};
    TipLines lines;
    for (const Comparison& c : result->result.directions) {
        if (!c.has_fused) continue;
        const bool graphs = c.baseline.graph_us.median > 0 && c.fused.graph_us.median > 0;
        const double before = (graphs ? c.baseline.graph_us : c.baseline.us).median * 1e3;
        const FuseVerdict verdict = judge(c, result->result.fp64_note.empty());
        QString words = tr("%1 → %2 measured alone")
                            .arg(text(formatDuration(before)),
                                 text(formatDuration((graphs ? c.fused.graph_us : c.fused.us).median * 1e3)));
        if (verdict.numerics != NumericsVerdict::Unknown)
            words += QStringLiteral(", ") + tipText(nameOf(verdict.numerics));
        lines.add(c.direction == "backward" ? tr("Backward") : tr("Forward"), words);
    }
    const double saved = measuredSaving(result->result, stepTimeOf(finding, finding.instances[group.instance]));
    const QString each = saved >= 0 ? text(formatDuration(saved)) : tr("nothing: it is slower");
    lines.add(tr("Saves"), group.instances > 1 ? tr("%1 in the step, in each of %2").arg(each).arg(group.instances)
                                               : tr("%1 in the step").arg(each));
    lines.add(tr("GPU"), tipText(result->result.device));
    return lines.under(tipText(fusedText(analysis, group)));
}

} // namespace fusescope
