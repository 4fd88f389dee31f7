// SPDX-License-Identifier: GPL-3.0-or-later
// Delegates of tables and the tree.
#pragma once

#include "ui/base/session.h"

#include <QStyledItemDelegate>

namespace fusescope {

// A bar behind the percentage, in the colour of the row's kind.
class ShareBarDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit ShareBarDelegate(const Session* session, QObject* parent = nullptr);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    const Session* session_;
};

// The text, and behind it, muted, what NoteRole says, as far as there is room.
class NotedNameDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit NotedNameDelegate(const Session* session, QObject* parent = nullptr);
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    const Session* session_;
};

} // namespace fusescope
