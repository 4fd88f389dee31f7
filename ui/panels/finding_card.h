// SPDX-License-Identifier: GPL-3.0-or-later
// One finding in the list: title and verdict, saving, signals and kernels, a bar of its time now and once fused; with a
// queue also the button that measures it, how far that is, and what came of it.
#pragma once

#include "ui/base/session.h"
#include "ui/fuse/fuse_queue.h"

#include <QStyledItemDelegate>

namespace fusescope {

class FindingCardDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    explicit FindingCardDelegate(const Session* session, QObject* parent = nullptr);
    void setQueue(const FuseQueue* queue) { queue_ = queue; }
    // Whether the card has a line about the measurement below the others.
    [[nodiscard]] bool hasLine(const QModelIndex& index) const;
    [[nodiscard]] static QRect buttonRect(const QRect& card);
    // An item without the title of a section that stands above the first region of the user's own.
    [[nodiscard]] static QRect cardRect(const QRect& item, const QModelIndex& index);
    [[nodiscard]] bool editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                                   const QModelIndex& index) override;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    [[nodiscard]] bool helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                                 const QModelIndex& index) override;

Q_SIGNALS:
    void fuseClicked(const QModelIndex& index);

private:
    void paintButton(QPainter* painter, const QRect& card, std::size_t row, bool again, bool measures_only) const;
    const Session* session_;
    const FuseQueue* queue_ = nullptr;
};

// What the four signals are, in a few words (1..4).
[[nodiscard]] QString signalTitle(int signal);

} // namespace fusescope
