// SPDX-License-Identifier: GPL-3.0-or-later
// Sorting by raw numbers and filtering by words: a row stays when every word stands somewhere in it.
#pragma once

#include <QSortFilterProxyModel>
#include <QStringList>

namespace fusescope {

class FilterProxy : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit FilterProxy(QObject *parent = nullptr);
    void setWords(const QString &text);
    [[nodiscard]] bool filtering() const { return !words_.isEmpty(); }

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex &parent) const override;
    [[nodiscard]] bool lessThan(const QModelIndex &left, const QModelIndex &right) const override;

private:
    QStringList words_;
};

} // namespace fusescope
