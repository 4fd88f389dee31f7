// SPDX-License-Identifier: GPL-3.0-or-later
// Arrows from measured findings, as run, to their fused forms. Not for other parts.
#pragma once

#include "core/draw/roofline_draw.h"
#include "ui/roofline/roofline_scene.h"

#include <functional>
#include <utility>
#include <vector>

namespace fusescope {

class RooflineMovesItem : public RooflineItem {
public:
    using RooflineItem::RooflineItem;
    void setMoves(std::vector<RooflineMove> moves);
    [[nodiscard]] const std::vector<RooflineMove>& moves() const { return moves_; }
    // Index of the arrow at a place on the chart, selected ones before others; -1 = none.
    [[nodiscard]] int moveAt(QPointF at) const;
    [[nodiscard]] QPointF endOf(int move) const;           // on the chart: where the fused form stands
    [[nodiscard]] std::vector<QRectF> chosenMarks() const; // fused forms of what is selected
    // Where the words at the ends of the selected arrows stand, by arrow.
    [[nodiscard]] std::vector<std::pair<int, QRectF>> labels() const;
    std::function<std::vector<QRectF>()> occupied; // what they keep off
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

private:
    [[nodiscard]] bool chosen(const RooflineMove& move) const;
    [[nodiscard]] QPointF from(const RooflineMove& move) const;
    [[nodiscard]] QPointF to(const RooflineMove& move) const;
    std::vector<RooflineMove> moves_;
};

// The place for words of a size that is nearest to a mark within an area and hits nothing; where all is taken, the one
// that hits least. Right of it before left, below and above.
[[nodiscard]] QRectF placeBeside(const QRectF& mark, QSizeF words, const QRectF& area,
                                 const std::vector<QRectF>& taken);

// The lines of the tooltip of an arrow, as rich text.
[[nodiscard]] QString moveTip(const Analysis& analysis, const RooflineMove& move);

} // namespace fusescope
