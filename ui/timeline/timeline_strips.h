// SPDX-License-Identifier: GPL-3.0-or-later
// What stands around the rows: the whole trace above, the ruler, the labels on the left.
#pragma once

#include "ui/timeline/timeline_state.h"

#include <QPixmap>
#include <QWidget>

namespace fusescope {

constexpr int kLabelWidth = 160;

// The whole trace, with the part in sight as a window that can be dragged.
class MinimapStrip : public QWidget {
    Q_OBJECT
public:
    explicit MinimapStrip(TimelineState* state, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override { return {400, 36}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Grip { None, Window, Left, Right };
    [[nodiscard]] QRectF window() const;
    [[nodiscard]] Grip gripAt(double x) const;
    [[nodiscard]] std::int64_t timeAt(double x) const;

    TimelineState* state_;
    QPixmap pixels_;
    bool dirty_ = true;
    Grip grip_ = Grip::None;
    double grip_offset_ = 0;
};

class RulerStrip : public QWidget {
    Q_OBJECT
public:
    explicit RulerStrip(TimelineState* state, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override { return {400, 24}; }
    void showAt(double x); // the time under the mouse; < 0: none

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    TimelineState* state_;
    double hover_ = -1;
};

// Names of the rows; a click folds a row into one line or opens it again.
class LabelColumn : public QWidget {
    Q_OBJECT
public:
    explicit LabelColumn(TimelineState* state, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override { return {kLabelWidth, 100}; }

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;

private:
    [[nodiscard]] const TimelineRow* rowAt(double y) const;
    TimelineState* state_;
};

} // namespace fusescope
