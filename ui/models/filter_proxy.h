// SPDX-License-Identifier: GPL-3.0-or-later
// Sorting by raw numbers and filtering by words: a row stays when every word stands somewhere in it.
#pragma once

#include <QSortFilterProxyModel>
#include <QStringList>

namespace fusescope {

class FilterProxy : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit FilterProxy(QObject* parent = nullptr);
    void setWords(const QString& text);
    void sort(int column, Qt::SortOrder order = Qt::AscendingOrder) override;
    // The sorted column carries an arrow behind its title.
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    [[nodiscard]] bool filtering() const { return !words_.isEmpty(); }

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
    [[nodiscard]] bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

private:
    QStringList words_;
};

} // namespace fusescope
