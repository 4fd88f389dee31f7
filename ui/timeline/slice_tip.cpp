// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/slice_tip.h"

#include "core/analysis/selection.h"
#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/draw/text_fit.h"
#include "core/trace/op_args.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace fusescope {
namespace {

constexpr std::size_t kTwoLines = 150; // characters

QString tr(const char* words) { return QCoreApplication::translate("fusescope::SliceTip", words); }

QString shapesOf(const TraceStore& trace, CpuOpId op) {
    QStringList shapes;
    for (const OpArg& arg : parseOpArgs(trace, op)) {
        if (arg.kind == ArgKind::Tensor) shapes << tipShape(arg.tensor);
        for (const TensorMeta& meta : arg.list) shapes << tipShape(meta);
        if (shapes.size() >= 4) break;
    }
    return shapes.join(QStringLiteral(", "));
}

QString opName(const TraceStore& trace, CpuOpId op) {
    if (!op.valid() || op.index() >= trace.cpu_ops.size()) return {};
    return tipText(trace.nameOf(trace.cpu_ops.slice[op.index()]));
}

void addLink(const Analysis& a, const WorkLink& link, TipLines& lines) {
    const TraceStore& trace = *a.trace;
    QString op = opName(trace, link.op);
    if (link.top_op.valid() && link.top_op != link.op) op = opName(trace, link.top_op) + QStringLiteral(" › ") + op;
    lines.add(tr("Operator"), op);
    if (link.op.valid() && link.op.index() < trace.cpu_ops.size()) lines.add(tr("Shapes"), shapesOf(trace, link.op));
    if (link.module.valid() && link.module.index() < a.link.modules.modules.size()) {
        const Module& module = a.link.modules.at(link.module);
        QString name = tipText(module.path.empty() ? std::string_view(module.type) : std::string_view(module.path));
        if (!module.type.empty() && !module.path.empty())
            name += QStringLiteral(" (") + tipText(module.type) + QChar(u')');
        lines.add(tr("Module"), name);
    }
    if (link.node.valid() && a.graph && link.node.index() < a.graph->ops.nodes.size())
        lines.add(tr("Source"), tipText(a.graph->ops.sourceLine(link.node)));
    if (link.phase != Phase::Unknown) lines.add(tr("Phase"), tipText(nameOf(link.phase)));
    QStringList how;
    const auto say = [&](const QString& what, LinkHow by) {
        if (by != LinkHow::None) how << QStringLiteral("%1: %2").arg(what, tipText(nameOf(by)));
    };
    say(tr("launch"), link.launch_how);
    say(tr("operator"), link.op_how);
    say(tr("module"), link.module_how);
    say(tr("graph"), link.node_how);
    lines.add(tr("Linked by"), how.isEmpty() ? tr("nothing: no launch was recorded") : how.join(QStringLiteral(", ")));
}

void addKernel(const Analysis& a, KernelId kernel, bool measured, TipLines& lines) {
    const std::size_t k = kernel.index();
    const KernelTable& table = a.trace->kernels;
    const auto dims = [](const std::array<std::uint32_t, 3>& d) {
        return QStringLiteral("%1×%2×%3").arg(d[0]).arg(d[1]).arg(d[2]);
    };
    lines.add(tr("Grid, block"), QStringLiteral("%1, %2").arg(dims(table.grid[k]), dims(table.block[k])));
    QString use = tr("%1 registers").arg(table.registers[k]) + QStringLiteral(", ") +
                  text(formatBytes(table.shared_bytes[k])) + QChar(u' ') + tr("shared");
    if (table.occupancy[k] >= 0) use += QStringLiteral(", ") + tr("occupancy %1%").arg(table.occupancy[k]);
    lines.add(tr("Per block"), use);
    if (k < a.kernel_costs.size()) {
        const OpCost& cost = a.kernel_costs[k];
        if (cost.bytes() > 0) lines.add(tr("Data"), text(formatBytes(cost.bytes())));
        if (cost.flops > 0) lines.add(tr("FLOPs"), text(formatFlops(cost.flops)));
    }
    QStringList findings;
    for (const std::uint32_t row : select(a, {PickKind::Kernel, kernel.value}).findings)
        if (row < a.findings.size())
            findings << (measured ? tr("%1 (predicted: %2)") : tr("%1 (%2)"))
                            .arg(tipText(a.findings[row].id), tipText(nameOf(a.findings[row].verdict)));
    lines.add(tr("Findings"), findings.join(QStringLiteral(", ")));
}

} // namespace

QString sliceTip(const Analysis& a, SliceId slice, const TimelineAfter* after) {
    if (!a.trace || !slice.valid() || slice.index() >= a.trace->slices.size()) return {};
    const TraceStore& trace = *a.trace;
    const std::size_t s = slice.index();
    TipLines lines;
    const auto start = [&](std::int64_t t) { return text(formatDuration(static_cast<double>(t - trace.begin))); };
    if (const FusedPlace* place = after == nullptr ? nullptr : after->placeOf(a, slice)) {
        lines.add(tr("Duration"), tr("%1 here, %2 measured alone")
                                      .arg(text(formatDuration(static_cast<double>(place->end - place->begin))),
                                           text(formatDuration(place->fused_ns))));
        lines.add(tr("Unfused"),
                  text(formatDuration(static_cast<double>(place->recorded_end - place->recorded_begin))));
        lines.add(tr("Start"), tr("%1, recorded at %2").arg(start(place->begin), start(place->recorded_begin)));
        lines.add(tr("Direction"), place->backward ? tr("backward") : tr("forward"));
        lines.add(tr("In place of"), tipText(telltaleKernelName(trace.nameOf(slice))));
        return lines.under(tr("%1, fused").arg(tipText(titleOf(a, *place))));
    }
    lines.add(tr("Duration"), text(formatDuration(static_cast<double>(trace.slices.dur[s]))));
    const std::int64_t shown = shownSpan(a, after, slice).first, recorded = trace.slices.ts[s];
    lines.add(tr("Start"),
              shown == recorded ? start(recorded) : tr("%1, recorded at %2").arg(start(shown), start(recorded)));
    const Category category = trace.slices.category[s];
    const std::uint32_t row = trace.slices.detail[s];
    if (category == Category::Kernel && row < trace.kernels.size()) {
        if (row < a.link.kernels.size()) addLink(a, a.link.kernels[row], lines);
        addKernel(a, KernelId(row), after != nullptr, lines);
    } else if ((category == Category::GpuMemcpy || category == Category::GpuMemset) && row < trace.copies.size()) {
        lines.add(tr("Size"), text(formatBytes(static_cast<double>(trace.copies.bytes[row]))));
        if (row < a.link.copies.size()) addLink(a, a.link.copies[row], lines);
    } else if (category == Category::CpuOp && row < trace.cpu_ops.size()) {
        lines.add(tr("Shapes"), shapesOf(trace, CpuOpId(row)));
    }
    lines.add(tr("Kind"), tipText(nameOf(category)));
    const std::string_view name = trace.nameOf(slice);
    if (category != Category::Kernel) return lines.under(tipText(name));
    // C++ names run over many lines: what they say first, then as much of the whole as two lines hold.
    const QString brief = tipText(telltaleKernelName(name)), whole = tipText(visibleText(name, kTwoLines));
    return lines.under(brief, brief == whole ? QString() : whole);
}

RangeFacts factsOfRange(const Analysis& a, std::int64_t t0, std::int64_t t1, const TimelineAfter* after) {
    RangeFacts facts;
    if (t1 <= t0) return facts;
    facts.span_ns = static_cast<double>(t1 - t0);
    if (!a.trace) return facts;
    const TraceStore& trace = *a.trace;
    constexpr std::ptrdiff_t kBack = 64; // work that began before the range: streams hold only few at a time
    std::int64_t first = t0, last = t1;  // recorded times behind the range, on whichever device they reach furthest
    if (after != nullptr)
        for (const DeviceTimes& gpu : after->gpus) {
            first = std::min(first, gpu.map.back(t0));
            last = std::max(last, gpu.map.back(t1));
        }
    const auto from = [&](const std::vector<SliceId>& rows) {
        const auto at = std::lower_bound(rows.begin(), rows.end(), first,
                                         [&](SliceId id, std::int64_t t) { return trace.slices.ts[id.index()] < t; });
        return at - std::min(kBack, at - rows.begin());
    };
    auto kernel = from(trace.kernels.slice), copy = from(trace.copies.slice);
    std::vector<std::pair<std::int64_t, std::int64_t>> busy;
    while (true) {
        const bool has_kernel = kernel != trace.kernels.slice.end(), has_copy = copy != trace.copies.slice.end();
        if (!has_kernel && !has_copy) break;
        const bool take_kernel =
            has_kernel && (!has_copy || trace.slices.ts[kernel->index()] <= trace.slices.ts[copy->index()]);
        const SliceId slice = take_kernel ? *kernel++ : *copy++;
        if (trace.slices.ts[slice.index()] >= last) break;
        const auto [begin, end] = shownSpan(a, after, slice);
        if (begin >= t1 || end <= t0) continue;
        if (after != nullptr) { // a fused kernel counts once, where it is
            const FusedPlace* place = after->placeOf(a, slice);
            if (place != nullptr && place->recorded_begin != trace.slices.ts[slice.index()]) continue;
        }
        if (take_kernel) ++facts.kernels;
        busy.emplace_back(std::max(begin, t0), std::min(end, t1));
    }
    if (!std::is_sorted(busy.begin(), busy.end())) std::sort(busy.begin(), busy.end()); // several devices
    std::int64_t reached = t0;
    for (const auto& [begin, end] : busy) {
        if (end > reached) facts.busy_ns += static_cast<double>(end - std::max(begin, reached));
        reached = std::max(reached, end);
    }
    return facts;
}

} // namespace fusescope
