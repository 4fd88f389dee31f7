// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/filter_proxy.h"

#include "ui/models/roles.h"

#include <algorithm>

namespace fusescope {

FilterProxy::FilterProxy(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(SortRole);
    setRecursiveFilteringEnabled(true);
    setAutoAcceptChildRows(true);
}

void FilterProxy::setWords(const QString& text) {
    const QStringList words = text.simplified().split(QLatin1Char(' '), Qt::SkipEmptyParts);
    if (words == words_) return;
    words_ = words;
    invalidateFilter();
}

void FilterProxy::sort(int column, Qt::SortOrder order) {
    QSortFilterProxyModel::sort(column, order);
    if (columnCount() > 0) Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

QVariant FilterProxy::headerData(int section, Qt::Orientation orientation, int role) const {
    QVariant title = QSortFilterProxyModel::headerData(section, orientation, role);
    if (role != Qt::DisplayRole || orientation != Qt::Horizontal || section != sortColumn()) return title;
    const QString arrow = sortOrder() == Qt::DescendingOrder ? QStringLiteral(" ▾") : QStringLiteral(" ▴");
    return QString(title.toString() + arrow);
}

bool FilterProxy::filterAcceptsRow(int row, const QModelIndex& parent) const {
    if (words_.isEmpty()) return true;
    const QModelIndex first = sourceModel()->index(row, 0, parent);
    QString all = first.data(FilterRole).toString();
    if (all.isEmpty())
        for (int column = 0; column < sourceModel()->columnCount(parent); ++column)
            all += first.siblingAtColumn(column).data().toString() + QLatin1Char(' ');
    return std::all_of(words_.begin(), words_.end(),
                       [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
}

bool FilterProxy::lessThan(const QModelIndex& left, const QModelIndex& right) const {
    const QVariant a = left.data(SortRole), b = right.data(SortRole);
    if (a.userType() == QMetaType::QString || b.userType() == QMetaType::QString) {
        const int order = a.toString().compare(b.toString(), Qt::CaseInsensitive);
        return order != 0 ? order < 0 : left.row() < right.row();
    }
    const double x = a.toDouble(), y = b.toDouble();
    return x != y ? x < y : left.row() < right.row();
}

} // namespace fusescope
