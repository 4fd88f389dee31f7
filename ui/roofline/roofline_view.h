// SPDX-License-Identifier: GPL-3.0-or-later
// The chart's view: wheel zooms at the cursor, dragging pans, double click resets, a click picks. Not for other parts.
#pragma once

#include <QChartView>
#include <QPointF>
#include <QRectF>

#include <functional>

namespace fusescope {

class RooflineView : public QChartView {
    Q_OBJECT
public:
    explicit RooflineView(QWidget* parent = nullptr);

    // The visible range in log10, y up: left/right = FLOP/byte, top = lowest and bottom = highest FLOP/s.
    [[nodiscard]] QRectF range() const { return range_; }
    [[nodiscard]] bool zoomed() const { return range_ != home_; }
    void setHome(const QRectF& range); // shown now, and after reset()
    void reset();

    std::function<void(const QRectF&)> show_range; // called when it changes
    // What is at a position of the chart: index of a mark, -2 - index of an arrow, -1 = nothing.
    std::function<int(QPointF)> mark_at;

Q_SIGNALS:
    void hovered(int mark, QPoint global);
    void clicked(int mark);
    void moveWanted(int by); // the next arrow (1), the one before (-1)
    void resized();

protected:
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void show(QRectF range);
    void zoom(double factor, QPointF at);
    [[nodiscard]] QPointF onChart(QPointF view) const;

    QRectF home_{0, 0, 1, 1}, range_{0, 0, 1, 1}, range_at_press_;
    QPointF press_;
    bool pressed_ = false, dragging_ = false;
};

} // namespace fusescope
