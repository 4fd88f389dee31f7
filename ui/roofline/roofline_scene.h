// SPDX-License-Identifier: GPL-3.0-or-later
// What the panel draws on the chart beside its axes and roofs: labelled decades and the operators' marks, each one
// item, however many there are (a scatter series would make one item per point). Not for other parts.
#pragma once

#include "core/draw/roofline_draw.h"
#include "ui/base/session.h"

#include <QGraphicsItem>
#include <QPointF>
#include <QRectF>
#include <QString>

#include <functional>
#include <vector>

QT_BEGIN_NAMESPACE
class QChart;
class QAbstractSeries;
QT_END_NAMESPACE

namespace fusescope {

struct RooflineMark { // in log10 of FLOP/byte and FLOP/s
    std::uint32_t row = 0;
    QPointF value;
    double radius = 3;
};

class RooflineItem : public QGraphicsItem { // covers the whole chart
public:
    RooflineItem(QChart* chart, QAbstractSeries* axes_of, const Session* session);
    [[nodiscard]] QRectF boundingRect() const override;

protected:
    [[nodiscard]] QPointF place(QPointF value) const;
    [[nodiscard]] QPointF value(QPointF place) const;
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] QColor colourOf(ColourRole role) const;

    QChart* chart_;
    QAbstractSeries* axes_of_;
    const Session* session_;
};

class RooflineGridItem : public RooflineItem {
public:
    using RooflineItem::RooflineItem;
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;
};

class RooflineMarksItem : public RooflineItem {
public:
    using RooflineItem::RooflineItem;
    void setAnalysis(AnalysisPtr analysis);
    [[nodiscard]] const std::vector<RooflineMark>& marks() const { return marks_; }
    // Index into marks of the one at a place on the chart, the smallest where several are; -1 = none.
    [[nodiscard]] int markAt(QPointF at) const;
    void setHovered(int mark);
    // What words of other items shall not cover: figures and labels as last painted; of marks the selected ones, or
    // all.
    [[nodiscard]] std::vector<QRectF> occupied() const;
    std::function<std::vector<QRectF>()> others; // marks of other items: labels keep off them
    void paint(QPainter* painter, const QStyleOptionGraphicsItem* option, QWidget* widget) override;

private:
    struct Taken { // where labels of marks may not stand; soft: only if there is no other place
        std::vector<QRectF> hard, soft;
    };
    Taken paintRoofs(QPainter& painter) const;
    Taken paintLabels(QPainter& painter, Taken taken) const;             // with what they take
    [[nodiscard]] std::vector<QRectF> circlesOf(std::size_t most) const; // of the longest marks, with rings

    AnalysisPtr analysis_;
    std::vector<RooflineMark> marks_; // the longest first: small ones lie on top
    std::vector<QRectF> figures_;     // where words stand, as last painted
    int hovered_ = -1;
};

// "1 TFLOP/s", "0.01": labels of powers of ten (and of 2 and 5 between them when zoomed in).
[[nodiscard]] QString rateLabel(double v);
[[nodiscard]] QString intensityLabel(double v);
// The lines of the tooltip of a mark, as rich text.
[[nodiscard]] QString markTip(const Analysis& analysis, std::uint32_t op_row);

} // namespace fusescope
