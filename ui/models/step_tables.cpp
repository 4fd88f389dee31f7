// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/step_tables.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <utility>

namespace fusescope {

void StepTableModel::setAnalysis(AnalysisPtr analysis) {
    beginResetModel();
    analysis_ = std::move(analysis);
    total_ns_ = 0;
    if (analysis_)
        for (const KernelSummary& kernel : analysis_->kernels) total_ns_ += kernel.total_ns;
    endResetModel();
}

void StepTableModel::setTheme(Theme theme) {
    if (theme == theme_) return;
    theme_ = theme;
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, kindColumn()), index(rowCount() - 1, kindColumn()), {Qt::DecorationRole});
}

int StepTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : columns(); }

QVariant StepTableModel::data(const QModelIndex& index, int role) const {
    if (!analysis_ || !index.isValid() || index.row() >= rowCount()) return {};
    const int row = index.row(), column = index.column();
    switch (role) {
    case Qt::DisplayRole: return cell(row, column);
    case Qt::ToolTipRole: return plainTip(tip(row, column));
    case SortRole: return sortKey(row, column);
    case Qt::DecorationRole: return column == kindColumn() ? QVariant(kindIcon(kind(row), theme_)) : QVariant();
    case Qt::TextAlignmentRole:
        return static_cast<int>((head(column).number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case ShareRole: return column == shareColumn() ? QVariant(share(row)) : QVariant();
    case KindRole: return static_cast<int>(kind(row));
    case PickIdRole: return pickId(row);
    default: return {};
    }
}

QVariant StepTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columns()) return {};
    const Head h = head(section);
    switch (role) {
    case Qt::DisplayRole: return h.title;
    case Qt::ToolTipRole: return h.tip.isEmpty() ? QVariant() : QVariant(h.tip);
    case Qt::TextAlignmentRole: return static_cast<int>((h.number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    default: return {};
    }
}

} // namespace fusescope
