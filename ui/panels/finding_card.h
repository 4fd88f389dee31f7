// SPDX-License-Identifier: GPL-3.0-or-later
// One finding in the list: title and verdict, saving, signals and kernels, a bar of its time now and once fused.
#pragma once

#include "ui/base/session.h"

#include <QStyledItemDelegate>

namespace fusescope {

class FindingCardDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit FindingCardDelegate(const Session* session, QObject* parent = nullptr);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                                 const QModelIndex& index) override;

private:
    const Session* session_;
};

// What the four signals are, in a few words (1..4).
[[nodiscard]] QString signalTitle(int signal);

} // namespace fusescope
