// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of the timeline. The picture is kept as pixels until something changes, so that the mouse costs nothing.
#pragma once

#include "ui/timeline/timeline_state.h"

#include <QPixmap>
#include <QTimer>
#include <QWidget>

namespace fusescope {

class TimelineCanvas : public QWidget {
    Q_OBJECT
public:
    explicit TimelineCanvas(TimelineState* state, QWidget* parent = nullptr);

    [[nodiscard]] const DrawList& picture(); // as painted, up to date
    void clearMarkedRange();

Q_SIGNALS:
    void hovered(double x); // < 0: the mouse left

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;

private:
    enum class Drag { None, Pressed, Pan, Mark };
    void dirty();
    void showTip();
    void paintMarkedRange(QPainter& painter);
    [[nodiscard]] SliceId sliceUnder(QPointF at) const;
    [[nodiscard]] double focusX() const; // where keys zoom: at the mouse, else in the middle

    TimelineState* state_;
    DrawList list_;
    QPixmap pixels_;
    Session::ShownFused fused_; // what was measured, of the selection and the plan
    bool list_dirty_ = true, pixels_dirty_ = true;
    Drag drag_ = Drag::None;
    QPointF pressed_, last_;
    double hover_x_ = -1;
    std::int64_t mark0_ = 0, mark1_ = 0; // marked range, ns; equal: none
    QTimer tip_timer_;
    QPoint tip_at_;
    SliceId tip_slice_;
};

} // namespace fusescope
