// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"
#include "ui/models/step_tables.h"

namespace fusescope {
namespace {

const KernelSummary& at(const AnalysisPtr& analysis, int row) {
    return analysis->kernels[static_cast<std::size_t>(row)];
}
double average(const KernelSummary& k) { return k.calls > 0 ? k.total_ns / k.calls : 0; }

} // namespace

int KernelTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !analysis_ ? 0 : static_cast<int>(analysis_->kernels.size());
}

StepTableModel::Head KernelTableModel::head(int column) const {
    switch (column) {
    case NameColumn: return {tr("Kernel"), {}, false};
    case KindColumn: return {tr("Kind"), tr("What the work is for"), false};
    case CallsColumn: return {tr("Calls"), tr("Launches in the analysed step")};
    case TotalColumn: return {tr("Total"), {}};
    case AverageColumn: return {tr("Average"), {}};
    case MinColumn: return {tr("Min"), {}};
    case MaxColumn: return {tr("Max"), {}};
    case ShareColumn: return {tr("Kernel %"), tr("Share of the step's kernel time")};
    case LaunchColumn:
        return {tr("Launch"),
                tr("Launch cost as a share of launch cost + run time: high means too many short kernels")};
    default: return {};
    }
}

QString KernelTableModel::cell(int row, int column) const {
    const KernelSummary& k = at(analysis_, row);
    switch (column) {
    case NameColumn: return text(k.name);
    case KindColumn: return text(nameOf(k.kind));
    case CallsColumn: return text(formatCount(k.calls));
    case TotalColumn: return text(formatDuration(k.total_ns));
    case AverageColumn: return text(formatDuration(average(k)));
    case MinColumn: return text(formatDuration(k.min_ns));
    case MaxColumn: return text(formatDuration(k.max_ns));
    case ShareColumn: return text(shareText(share(row)));
    case LaunchColumn: return text(shareText(k.launch_overhead_share));
    default: return {};
    }
}

QVariant KernelTableModel::sortKey(int row, int column) const {
    const KernelSummary& k = at(analysis_, row);
    switch (column) {
    case CallsColumn: return k.calls;
    case TotalColumn: return k.total_ns;
    case AverageColumn: return average(k);
    case MinColumn: return k.min_ns;
    case MaxColumn: return k.max_ns;
    case ShareColumn: return share(row);
    case LaunchColumn: return k.launch_overhead_share;
    default: return cell(row, column);
    }
}

QString KernelTableModel::tip(int row, int column) const {
    const KernelSummary& k = at(analysis_, row);
    const auto exact = [](double ns) { return tr("%1 ns").arg(text(formatCount(static_cast<std::int64_t>(ns)))); };
    switch (column) {
    case NameColumn: return text(k.name);
    case TotalColumn: return exact(k.total_ns);
    case AverageColumn: return exact(average(k));
    case MinColumn: return exact(k.min_ns);
    case MaxColumn: return exact(k.max_ns);
    case ShareColumn: return tr("%1% of the step's kernel time").arg(share(row) * 100, 0, 'f', 4);
    case LaunchColumn: return tr("%1% of launch cost + run time").arg(k.launch_overhead_share * 100, 0, 'f', 4);
    default: return {};
    }
}

OpKind KernelTableModel::kind(int row) const { return at(analysis_, row).kind; }
double KernelTableModel::share(int row) const { return total_ns_ > 0 ? at(analysis_, row).total_ns / total_ns_ : 0; }
quint32 KernelTableModel::pickId(int row) const { return longestKernel(row).value; }

KernelId KernelTableModel::longestKernel(int row) const {
    KernelId longest;
    if (!analysis_ || row < 0 || row >= rowCount()) return longest;
    std::int64_t most = -1;
    for (const KernelId kernel : at(analysis_, row).kernels) {
        std::int64_t dur = 0;
        if (analysis_->trace && kernel.index() < analysis_->trace->kernels.size())
            dur = analysis_->trace->slices.dur[analysis_->trace->kernels.slice[kernel.index()].index()];
        if (dur <= most) continue;
        most = dur;
        longest = kernel;
    }
    return longest;
}

} // namespace fusescope
