// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/delegates.h"

#include "ui/base/paint.h"
#include "ui/models/roles.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>

namespace fusescope {
namespace {

const QStyle* styleOf(const QStyleOptionViewItem& option) {
    return option.widget != nullptr ? option.widget->style() : QApplication::style();
}

} // namespace

ShareBarDelegate::ShareBarDelegate(const Session* session, QObject* parent)
    : QStyledItemDelegate(parent), session_(session) {}

void ShareBarDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const double share = std::clamp(index.data(ShareRole).toDouble(), 0.0, 1.0);
    if (share > 0) {
        const QVariant kind = index.data(KindRole);
        const bool has_kind = kind.isValid() && kind.toInt() >= 0;
        QColor fill =
            qColor(has_kind ? roleOf(static_cast<OpKind>(kind.toInt())) : ColourRole::BoundMemory, session_->theme());
        // The row's own background first, then the bar, then the text over both.
        const QString shown = item.text;
        item.text.clear();
        styleOf(option)->drawControl(QStyle::CE_ItemViewItem, &item, painter, option.widget);
        item.text = shown;
        fill.setAlphaF(session_->theme() == Theme::Dark ? 0.45F : 0.5F);
        const QRectF room = QRectF(option.rect).adjusted(3, 3, -3, -3);
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(Qt::NoPen);
        painter->setBrush(fill);
        painter->drawRoundedRect(QRectF(room.left(), room.top(), std::max(1.5, room.width() * share), room.height()), 2,
                                 2);
        painter->setPen(item.palette.color((option.state & QStyle::State_Selected) != 0 ? QPalette::HighlightedText
                                                                                        : QPalette::Text));
        painter->setFont(item.font);
        // Over the whole height: the bar is lower than the letters of some fonts.
        painter->drawText(QRectF(option.rect).adjusted(6, 0, -6, 0), Qt::AlignRight | Qt::AlignVCenter, shown);
        painter->restore();
        return;
    }
    QStyledItemDelegate::paint(painter, option, index);
}

QSize ShareBarDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    constexpr int kAir = 4; // between the letters of one row and the next: some fonts bring none
    return QStyledItemDelegate::sizeHint(option, index).expandedTo({0, option.fontMetrics.height() + kAir});
}

NotedNameDelegate::NotedNameDelegate(const Session* session, QObject* parent)
    : QStyledItemDelegate(parent), session_(session) {}

void NotedNameDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    QStyledItemDelegate::paint(painter, option, index);
    const QString note = index.data(NoteRole).toString();
    if (note.isEmpty()) return;
    QStyleOptionViewItem item = option;
    initStyleOption(&item, index);
    const QRect place = styleOf(option)->subElementRect(QStyle::SE_ItemViewItemText, &item, option.widget);
    const QFontMetrics metrics(item.font);
    const int left = place.left() + metrics.horizontalAdvance(item.text) + 14;
    const QRect room(left, option.rect.top(), option.rect.right() - 4 - left, option.rect.height());
    if (room.width() < metrics.horizontalAdvance(QLatin1Char('M')) * 3) return;
    painter->save();
    painter->setFont(item.font);
    painter->setPen((option.state & QStyle::State_Selected) != 0 ? item.palette.color(QPalette::HighlightedText)
                                                                 : qColor(ColourRole::TextMuted, session_->theme()));
    painter->drawText(room, Qt::AlignLeft | Qt::AlignVCenter, metrics.elidedText(note, Qt::ElideRight, room.width()));
    painter->restore();
}

} // namespace fusescope
