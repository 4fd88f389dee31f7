// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_view.h"

#include <QApplication>
#include <QChart>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {
constexpr double kLeast = 0.25; // decades: no closer
}

RooflineView::RooflineView(QWidget* parent) : QChartView(parent) {
    setMouseTracking(true);
    setFrameShape(QFrame::NoFrame);
    setRenderHint(QPainter::Antialiasing);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    viewport()->setFocusPolicy(Qt::NoFocus); // the view itself takes the keys
}

void RooflineView::setHome(const QRectF& range) {
    home_ = range;
    show(range);
}

void RooflineView::reset() { show(home_); }

void RooflineView::show(QRectF range) {
    range_ = range;
    if (show_range) show_range(range_);
}

QPointF RooflineView::onChart(QPointF view) const { return chart()->mapFromScene(mapToScene(view.toPoint())); }

void RooflineView::zoom(double factor, QPointF at) {
    const QRectF plot = chart()->plotArea();
    if (plot.isEmpty()) return;
    // Never further out than one decade around everything.
    const double most_x = home_.width() + 2, most_y = home_.height() + 2;
    const double width = std::clamp(range_.width() * factor, std::min(kLeast, most_x), most_x);
    const double height = std::clamp(range_.height() * factor, std::min(kLeast, most_y), most_y);
    const double u = std::clamp((at.x() - plot.left()) / plot.width(), 0.0, 1.0);
    const double v = std::clamp((plot.bottom() - at.y()) / plot.height(), 0.0, 1.0);
    show(QRectF(range_.left() + u * (range_.width() - width), range_.top() + v * (range_.height() - height), width,
                height));
}

void RooflineView::wheelEvent(QWheelEvent* event) {
    const int turned = event->angleDelta().y();
    if (turned != 0) zoom(std::pow(2.0, -turned / 480.0), onChart(event->position()));
    event->accept();
}

void RooflineView::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return;
    pressed_ = true;
    dragging_ = false;
    press_ = event->position();
    range_at_press_ = range_;
}

void RooflineView::mouseMoveEvent(QMouseEvent* event) {
    if (pressed_) {
        const QPointF moved = event->position() - press_;
        if (!dragging_ && moved.manhattanLength() < QApplication::startDragDistance()) return;
        dragging_ = true;
        setCursor(Qt::ClosedHandCursor);
        const QRectF plot = chart()->plotArea();
        if (plot.isEmpty()) return;
        QRectF to = range_at_press_.translated(-moved.x() / plot.width() * range_at_press_.width(),
                                               moved.y() / plot.height() * range_at_press_.height());
        // Something of the whole stays in sight.
        to.moveLeft(std::clamp(to.left(), home_.left() - to.width() / 2, home_.right() - to.width() / 2));
        to.moveTop(std::clamp(to.top(), home_.top() - to.height() / 2, home_.bottom() - to.height() / 2));
        show(to);
        return;
    }
    const int mark = mark_at ? mark_at(onChart(event->position())) : -1;
    setCursor(mark != -1 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    Q_EMIT hovered(mark, event->globalPosition().toPoint());
}

void RooflineView::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || !pressed_) return;
    pressed_ = false;
    unsetCursor();
    if (!dragging_) Q_EMIT clicked(mark_at ? mark_at(onChart(event->position())) : -1);
    dragging_ = false;
}

void RooflineView::mouseDoubleClickEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton) reset();
}

void RooflineView::leaveEvent(QEvent* event) {
    QChartView::leaveEvent(event);
    Q_EMIT hovered(-1, {});
}

void RooflineView::resizeEvent(QResizeEvent* event) {
    QChartView::resizeEvent(event);
    Q_EMIT resized();
}

void RooflineView::keyPressEvent(QKeyEvent* event) {
    const QPointF middle = chart()->plotArea().center();
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: zoom(0.7, middle); break;
    case Qt::Key_Minus: zoom(1 / 0.7, middle); break;
    case Qt::Key_0:
    case Qt::Key_Home: reset(); break;
    case Qt::Key_M: Q_EMIT moveWanted(event->modifiers() & Qt::ShiftModifier ? -1 : 1); break;
    case Qt::Key_Left: show(range_.translated(-range_.width() / 10, 0)); break;
    case Qt::Key_Right: show(range_.translated(range_.width() / 10, 0)); break;
    case Qt::Key_Up: show(range_.translated(0, range_.height() / 10)); break;
    case Qt::Key_Down: show(range_.translated(0, -range_.height() / 10)); break;
    default: QChartView::keyPressEvent(event);
    }
}

} // namespace fusescope
