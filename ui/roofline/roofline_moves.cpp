// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_moves.h"

#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

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

bool RooflineMovesItem::chosen(const RooflineMove& move) const { return isPicked(session_->selection(), move); }
QPointF RooflineMovesItem::from(const RooflineMove& move) const {
    return place({std::log10(move.ai_now), std::log10(move.flops_now)});
}
QPointF RooflineMovesItem::to(const RooflineMove& move) const {
    return place({std::log10(move.ai_fused), std::log10(move.flops_fused)});
}
QPointF RooflineMovesItem::endOf(int move) const { return to(moves_[static_cast<std::size_t>(move)]); }

int RooflineMovesItem::moveAt(QPointF at) const {
    if (!plot().contains(at)) return -1;
    constexpr double kReach = 5; // pixels beside the line
    int best = -1;
    for (std::size_t i = 0; i < moves_.size(); ++i) {
        const QPointF a = from(moves_[i]), along = to(moves_[i]) - a, off = at - a;
        const double length = QPointF::dotProduct(along, along);
        const double share = length > 0 ? std::clamp(QPointF::dotProduct(off, along) / length, 0.0, 1.0) : 1;
        const QPointF beside = off - along * share;
        if (QPointF::dotProduct(beside, beside) > kReach * kReach) continue;
        if (best < 0 || chosen(moves_[i]) || !chosen(moves_[static_cast<std::size_t>(best)]))
            best = static_cast<int>(i); // what was painted last lies on top
    }
    return best;
}

void RooflineMovesItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (moves_.empty()) return;
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    painter->setClipRect(plot());
    const bool choosing = somePicked(session_->selection());
    for (const bool front : {false, true}) // selected ones lie above the others
        for (const RooflineMove& move : moves_) {
            const bool picked = chosen(move);
            if (picked != front) continue;
            const QPointF from = this->from(move), to = this->to(move);
            QColor colour = colourOf(roleOf(move.speed));
            if (!picked && choosing) colour.setAlphaF(0.3F);
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

QString moveTip(const Analysis& analysis, const RooflineMove& move) {
    const auto tr = [](const char* words) { return QCoreApplication::translate("fusescope::RooflinePanel", words); };
    const auto point = [&](double ai, double flops, double ns) {
        return tr("%1, %2 at %3 FLOP/byte in %4")
            .arg(text(formatFlopRate(flops)), text(formatBandwidth(ai > 0 ? flops / ai : 0)),
                 text(formatSignificant(ai)), text(formatDuration(ns)));
    };
    TipLines lines;
    lines.add(tr("As run"), point(move.ai_now, move.flops_now, move.now_ns));
    lines.add(tr("Fused, measured"), point(move.ai_fused, move.flops_fused, move.fused_ns));
    return lines.under(tipText(titleOf(analysis, move)));
}

} // namespace fusescope
