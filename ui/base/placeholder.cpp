// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/placeholder.h"

#include "ui/base/paint.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>

namespace fusescope {

Placeholder::Placeholder(Session *session, const QString &title, const QString &detail, QWidget *parent)
    : QWidget(parent), session_(session), title_(title), detail_(detail) {
    setAccessibleName(title);
    setAccessibleDescription(detail);
    connect(session_, &Session::themeChanged, this, qOverload<>(&QWidget::update));
}

void Placeholder::paintEvent(QPaintEvent *) {
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, session_->theme()));
    const double wide = std::min(440.0, width() - 32.0);
    if (wide < 40) return;
    const QFont big = uiFont(15, true), small = uiFont(13);
    const QRectF room(0, 0, wide, 400);
    const QRectF detail = QFontMetricsF(small).boundingRect(room, Qt::AlignHCenter | Qt::TextWordWrap, detail_);
    const double title_height = QFontMetricsF(big).height(), all = title_height + 8 + detail.height();
    const double left = (width() - wide) / 2, top = std::max(4.0, (height() - all) / 2);
    painter.setFont(big);
    painter.setPen(qColor(ColourRole::TextMuted, session_->theme()));
    painter.drawText(QRectF(left, top, wide, title_height), Qt::AlignCenter, title_);
    painter.setFont(small);
    painter.drawText(QRectF(left, top + title_height + 8, wide, detail.height() + 8), Qt::AlignHCenter | Qt::TextWordWrap, detail_);
}

} // namespace fusescope
