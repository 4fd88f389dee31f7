// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_moves.h"

#include "ui/base/paint.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fusescope {

void RooflineMovesItem::setMoves(std::vector<RooflineMove> moves) {
    moves_ = std::move(moves);
    update();
}

void RooflineMovesItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (moves_.empty()) return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setClipRect(plot());
    const std::vector<std::uint32_t>& chosen = session_->selection().findings;
    for (const bool front : {false, true}) // selected ones lie above the others
        for (const RooflineMove& move : moves_) {
            const bool picked = std::binary_search(chosen.begin(), chosen.end(), move.finding);
            if (picked != front) continue;
            const QPointF from = place({std::log10(move.ai_now), std::log10(move.flops_now)});
            const QPointF to = place({std::log10(move.ai_fused), std::log10(move.flops_fused)});
            QColor colour = colourOf(ColourRole::Good);
            if (!picked && !chosen.empty()) colour.setAlphaF(0.3F);
            const QPointF along = to - from;
            const double length = std::hypot(along.x(), along.y());
            constexpr double kMark = 5, kHead = 8;
            if (length > kMark + kHead) {
                const QPointF unit = along / length, side(-unit.y(), unit.x());
                const QPointF tip = to - unit * kMark;
                painter->setPen(QPen(colour, 2));
                painter->drawLine(from, tip - unit * kHead);
                painter->setPen(Qt::NoPen);
                painter->setBrush(colour);
                painter->drawPolygon(QPolygonF({tip, tip - unit * kHead + side * 4, tip - unit * kHead - side * 4}));
            }
            painter->setPen(QPen(colourOf(ColourRole::Surface), 1));
            painter->setBrush(colour);
            painter->drawEllipse(to, kMark, kMark);
            if (!picked) continue;
            painter->setFont(uiFont(11, true));
            const QString words = QCoreApplication::translate("fusescope::RooflinePanel", "fused, measured");
            const QFontMetricsF metrics(painter->font());
            QRectF box(to.x() + 8, to.y() - 2, metrics.horizontalAdvance(words) + 4, 16);
            if (box.right() > plot().right() - 2) box.moveRight(to.x() - 8);
            if (box.left() < plot().left()) box.moveLeft(plot().left() + 2);
            painter->fillRect(box, colourOf(ColourRole::Surface));
            painter->setPen(colourOf(ColourRole::Text));
            painter->drawText(box, Qt::AlignCenter, words);
        }
    painter->restore();
}

} // namespace fusescope
