// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"
#include "ui/models/step_tables.h"

namespace fusescope {
namespace {

const OpSummary& at(const AnalysisPtr& analysis, int row) { return analysis->ops[static_cast<std::size_t>(row)]; }
double average(const OpSummary& o) { return o.calls > 0 ? o.time_ns / o.calls : 0; }
QString known(double value, const std::string& shown) { return value > 0 ? text(shown) : QStringLiteral("–"); }
QString exact(double value) { return text(formatCount(static_cast<std::int64_t>(value))); }

} // namespace

int OpTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || !analysis_ ? 0 : static_cast<int>(analysis_->ops.size());
}

StepTableModel::Head OpTableModel::head(int column) const {
    switch (column) {
    case OpColumn: return {tr("Operator"), {}, false};
    case KindColumn: return {tr("Kind"), tr("What the work is for"), false};
    case DirectionColumn: return {tr("Direction"), {}, false};
    case ModuleTypeColumn: return {tr("Module type"), tr("Class of the innermost module"), false};
    case CallsColumn: return {tr("Calls"), {}};
    case TotalColumn: return {tr("Total"), tr("Kernel time in the analysed step")};
    case AverageColumn: return {tr("Average"), tr("Kernel time of one call")};
    case ShareColumn: return {tr("Kernel %"), tr("Share of the step's kernel time")};
    case IntensityColumn: return {tr("FLOP/B"), tr("Arithmetic intensity, FLOP/byte")};
    case FlopRateColumn: return {tr("FLOP/s"), tr("Achieved arithmetic rate")};
    case BandwidthColumn: return {tr("Bytes/s"), tr("Achieved bandwidth: compulsory bytes / time")};
    case BoundColumn: return {tr("Bound"), tr("What limits it: memory, compute or launch"), false};
    case CoverageColumn: return {tr("Known"), tr("Share of its time whose FLOPs and bytes are known")};
    default: return {};
    }
}

QString OpTableModel::cell(int row, int column) const {
    const OpSummary& o = at(analysis_, row);
    switch (column) {
    case OpColumn: return text(displayOpName(o.op));
    case KindColumn: return text(nameOf(o.kind));
    case DirectionColumn: return text(nameOf(o.direction));
    case ModuleTypeColumn: return o.module_type.empty() ? QStringLiteral("–") : text(o.module_type);
    case CallsColumn: return text(formatCount(o.calls));
    case TotalColumn: return text(formatDuration(o.time_ns));
    case AverageColumn: return text(formatDuration(average(o)));
    case ShareColumn: return text(shareText(share(row)));
    case IntensityColumn: return known(o.intensity(), formatSignificant(o.intensity()));
    case FlopRateColumn: return known(o.achievedFlops(), formatFlopRate(o.achievedFlops()));
    case BandwidthColumn: return known(o.achievedBps(), formatBandwidth(o.achievedBps()));
    case BoundColumn: return o.bound == Bound::Unknown ? QStringLiteral("–") : text(nameOf(o.bound));
    case CoverageColumn: return text(shareText(o.coverage));
    default: return {};
    }
}

QVariant OpTableModel::sortKey(int row, int column) const {
    const OpSummary& o = at(analysis_, row);
    switch (column) {
    case CallsColumn: return o.calls;
    case TotalColumn: return o.time_ns;
    case AverageColumn: return average(o);
    case ShareColumn: return share(row);
    case IntensityColumn: return o.intensity();
    case FlopRateColumn: return o.achievedFlops();
    case BandwidthColumn: return o.achievedBps();
    case CoverageColumn: return o.coverage;
    default: return cell(row, column);
    }
}

QString OpTableModel::tip(int row, int column) const {
    const OpSummary& o = at(analysis_, row);
    switch (column) {
    case OpColumn: return text(o.op);
    case ModuleTypeColumn: return text(o.module_type);
    case CallsColumn: return tr("%1 calls, %2 kernels").arg(exact(o.calls), exact(o.kernels_count));
    case TotalColumn: return tr("%1 ns").arg(exact(o.time_ns));
    case AverageColumn: return tr("%1 ns").arg(exact(average(o)));
    case ShareColumn: return tr("%1% of the step's kernel time").arg(share(row) * 100, 0, 'f', 4);
    case IntensityColumn:
        return o.intensity() > 0 ? tr("%1 FLOP / %2 bytes").arg(exact(o.cost.flops), exact(o.cost.bytes()))
                                 : tr("FLOPs or bytes are not known");
    case FlopRateColumn: return tr("%1 FLOP in %2 ns").arg(exact(o.cost.flops), exact(o.time_ns));
    case BandwidthColumn:
        return tr("%1 bytes read + %2 written in %3 ns")
            .arg(exact(o.cost.bytes_read), exact(o.cost.bytes_written), exact(o.time_ns));
    case CoverageColumn: return tr("%1% of the time").arg(o.coverage * 100, 0, 'f', 4);
    default: return {};
    }
}

OpKind OpTableModel::kind(int row) const { return at(analysis_, row).kind; }
double OpTableModel::share(int row) const { return total_ns_ > 0 ? at(analysis_, row).time_ns / total_ns_ : 0; }
quint32 OpTableModel::pickId(int row) const { return static_cast<quint32>(row); }

} // namespace fusescope
