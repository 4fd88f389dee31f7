// SPDX-License-Identifier: GPL-3.0-or-later
// Arrows from measured findings, as run, to their fused forms. Not for other parts.
#pragma once

#include "core/draw/roofline_draw.h"
#include "ui/roofline/roofline_scene.h"

#include <vector>

namespace fusescope {

class RooflineMovesItem : public RooflineItem {
public:
    using RooflineItem::RooflineItem;
    void setMoves(std::vector<RooflineMove> moves);
    [[nodiscard]] const std::vector<RooflineMove>& moves() const { return moves_; }
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

private:
    std::vector<RooflineMove> moves_;
};

} // namespace fusescope
