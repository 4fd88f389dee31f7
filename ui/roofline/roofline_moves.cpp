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
#include <limits>
#include <utility>

namespace fusescope {
namespace {

constexpr double kMark = 5; // radius

QRectF markOf(QPointF at) { return {at.x() - kMark, at.y() - kMark, 2 * kMark, 2 * kMark}; }

QString movedWords() { return QCoreApplication::translate("fusescope::RooflinePanel", "fused, measured"); }

} // namespace

QRectF placeBeside(const QRectF& mark, QSizeF words, const QRectF& area, const std::vector<QRectF>& taken) {
    constexpr double kHit = 4, kAway = 6; // rather far away than over a mark, rather over a tip of a line than far away
    QRectF best;
    double least = std::numeric_limits<double>::max();
    for (const double away : {3.0, 8.0, 14.0, 20.0, 28.0, 40.0}) {
        const double right = mark.right() + away, left = mark.left() - away - words.width(),
                     below = mark.bottom() + away, above = mark.top() - away - words.height(),
                     beside = mark.center().y() - words.height() / 2, middle = mark.center().x() - words.width() / 2;
        for (const QPointF corner :
             {QPointF(right, beside), QPointF(left, beside), QPointF(middle, below), QPointF(middle, above),
              QPointF(right, below), QPointF(right, above), QPointF(left, below), QPointF(left, above)}) {
            QRectF box(corner, words);
            box.moveRight(std::min(box.right(), area.right()));
            box.moveLeft(std::max(box.left(), area.left()));
            if (box.top() < area.top() || box.bottom() > area.bottom()) continue;
            double hit = 0; // in square pixels
            for (const QRectF& other : taken) {
                const QRectF both = box & other;
                hit += std::max(0.0, both.width()) * std::max(0.0, both.height());
            }
            const double cost = kHit * hit + kAway * away;
            if (cost >= least) continue;
            least = cost;
            best = box;
        }
    }
    return best.isNull() ? QRectF(mark.topRight(), words) : best; // in no higher area than a line
}

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

std::vector<QRectF> RooflineMovesItem::chosenMarks() const {
    std::vector<QRectF> out;
    for (const RooflineMove& move : moves_)
        if (chosen(move)) out.push_back(markOf(to(move)));
    return out;
}

std::vector<std::pair<int, QRectF>> RooflineMovesItem::labels() const {
    std::vector<std::pair<int, QRectF>> out;
    const std::vector<QRectF> marks = chosenMarks();
    if (marks.empty()) return out;
    std::vector<QRectF> taken = occupied ? occupied() : std::vector<QRectF>();
    taken.insert(taken.end(), marks.begin(), marks.end());
    constexpr double kWay = 8; // arrows in pieces: their rectangles would be mostly empty
    for (const RooflineMove& move : moves_) {
        if (!chosen(move)) continue;
        const QPointF from = this->from(move), along = to(move) - from;
        const double length = std::hypot(along.x(), along.y());
        for (int i = 0; i * kWay < length; ++i)
            taken.emplace_back(from + along * (i * kWay / length) - QPointF(1, 1), QSizeF(2, 2));
    }
    const QSizeF size(QFontMetricsF(uiFont(11, true)).horizontalAdvance(movedWords()) + 4, 16);
    for (std::size_t i = 0; i < moves_.size(); ++i) {
        if (!chosen(moves_[i])) continue;
        const QRectF box = placeBeside(markOf(to(moves_[i])), size, plot().adjusted(2, 2, -2, -2), taken);
        taken.push_back(box);
        out.emplace_back(static_cast<int>(i), box);
    }
    return out;
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
            constexpr double kHead = 8;
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
        }
    painter->setFont(uiFont(11, true));
    for (const auto& [move, box] : labels()) {
        painter->fillRect(box, colourOf(ColourRole::Surface));
        painter->setPen(colourOf(ColourRole::Text));
        painter->drawText(box, Qt::AlignCenter, movedWords());
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
