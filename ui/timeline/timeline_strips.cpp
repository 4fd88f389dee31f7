// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_strips.h"

#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <array>
#include <cmath>

namespace fusescope {
namespace {
constexpr double kGripPixels = 5;
constexpr double kThinnestWindow = 6;

double spanOf(std::int64_t from, std::int64_t to) noexcept {
    return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
}
} // namespace

MinimapStrip::MinimapStrip(TimelineState* state, QWidget* parent) : QWidget(parent), state_(state) {
    setObjectName(QStringLiteral("timelineMinimap"));
    setAccessibleName(tr("Whole trace"));
    setAccessibleDescription(tr("GPU work of the whole trace; the arrow keys move the part in sight."));
    setFocusPolicy(Qt::TabFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    const auto refresh = [this] {
        dirty_ = true;
        update();
    };
    connect(state_->session(), &Session::analysisChanged, this, refresh);
    connect(state_->session(), &Session::themeChanged, this, refresh);
    connect(state_, &TimelineState::afterChanged, this, refresh);
    connect(state_, &TimelineState::changed, this, qOverload<>(&QWidget::update));
}

QRectF MinimapStrip::window() const {
    const TraceStore& trace = *state_->analysis()->trace;
    const double whole = std::max(1.0, spanOf(trace.begin, trace.end));
    double x0 = spanOf(trace.begin, state_->t0()) / whole * width(),
           x1 = spanOf(trace.begin, state_->t1()) / whole * width();
    if (x1 - x0 < kThinnestWindow) {
        x0 = std::clamp((x0 + x1 - kThinnestWindow) / 2, 0.0, std::max(0.0, width() - kThinnestWindow));
        x1 = x0 + kThinnestWindow;
    }
    return {x0, 0, x1 - x0, static_cast<double>(height())};
}

std::int64_t MinimapStrip::timeAt(double x) const {
    const TraceStore& trace = *state_->analysis()->trace;
    return trace.begin +
           static_cast<std::int64_t>(std::clamp(x / std::max(1, width()), 0.0, 1.0) * spanOf(trace.begin, trace.end));
}

MinimapStrip::Grip MinimapStrip::gripAt(double x) const {
    const QRectF w = window();
    if (w.width() > 3 * kGripPixels) {
        if (std::abs(x - w.left()) <= kGripPixels) return Grip::Left;
        if (std::abs(x - w.right()) <= kGripPixels) return Grip::Right;
    }
    return x >= w.left() && x <= w.right() ? Grip::Window : Grip::None;
}

void MinimapStrip::paintEvent(QPaintEvent*) {
    const Theme theme = state_->session()->theme();
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, theme));
    if (!state_->hasTrace()) return;
    const double ratio = devicePixelRatioF();
    const QSize wanted = (QSizeF(size()) * ratio).toSize();
    if (dirty_ || pixels_.size() != wanted) {
        pixels_ = QPixmap(wanted);
        pixels_.setDevicePixelRatio(ratio);
        pixels_.fill(Qt::transparent);
        QPainter inner(&pixels_);
        paintDrawList(inner, drawMinimap(*state_->analysis(), width(), height(), state_->after()), theme);
        dirty_ = false;
    }
    painter.drawPixmap(0, 0, pixels_);
    const QRectF w = window();
    QColor veil = qColor(ColourRole::Background, theme);
    veil.setAlphaF(0.68F);
    painter.fillRect(QRectF(0, 0, w.left(), height()), veil);
    painter.fillRect(QRectF(w.right(), 0, width() - w.right(), height()), veil);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(qColor(ColourRole::Accent, theme), hasFocus() ? 2.5 : 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(w.adjusted(1, 1, -1, -1), 2, 2);
}

void MinimapStrip::mousePressEvent(QMouseEvent* event) {
    if (!state_->hasTrace() || event->button() != Qt::LeftButton) return;
    const double x = event->position().x();
    grip_ = gripAt(x);
    if (grip_ == Grip::None) { // the window jumps to the mouse, and is held from there
        const std::int64_t length = state_->t1() - state_->t0(), middle = timeAt(x);
        state_->showSpan(middle, middle + 1, false);
        if (state_->t1() - state_->t0() != length) state_->setRange(middle - length / 2, middle + length / 2);
        grip_ = Grip::Window;
    }
    grip_offset_ = x - window().left();
}

void MinimapStrip::mouseMoveEvent(QMouseEvent* event) {
    if (!state_->hasTrace()) return;
    const double x = event->position().x();
    if (grip_ == Grip::None) {
        const Grip over = gripAt(x);
        setCursor(over == Grip::Left || over == Grip::Right ? Qt::SizeHorCursor
                  : over == Grip::Window                    ? Qt::OpenHandCursor
                                                            : Qt::PointingHandCursor);
        return;
    }
    if (grip_ == Grip::Left) return state_->setRange(std::min(timeAt(x), state_->t1() - 1), state_->t1());
    if (grip_ == Grip::Right) return state_->setRange(state_->t0(), std::max(timeAt(x), state_->t0() + 1));
    const double moved = x - grip_offset_ - window().left();
    const double whole = spanOf(state_->analysis()->trace->begin, state_->analysis()->trace->end);
    const double ns = moved / std::max(1, width()) * whole;
    state_->panBy(ns / std::max(1.0, spanOf(state_->t0(), state_->t1())) * state_->view().width);
}

void MinimapStrip::mouseReleaseEvent(QMouseEvent*) { grip_ = Grip::None; }

void MinimapStrip::wheelEvent(QWheelEvent* event) {
    if (!state_->hasTrace()) return;
    state_->zoomAt(std::pow(1.3, event->angleDelta().y() / 120.0), state_->xAt(timeAt(event->position().x())));
    event->accept();
}

void MinimapStrip::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Left: return state_->panBy(-state_->view().width / 4);
    case Qt::Key_Right: return state_->panBy(state_->view().width / 4);
    case Qt::Key_Up: return state_->zoomAt(1.4, state_->view().width / 2);
    case Qt::Key_Down: return state_->zoomAt(1 / 1.4, state_->view().width / 2);
    default: QWidget::keyPressEvent(event);
    }
}

RulerStrip::RulerStrip(TimelineState* state, QWidget* parent) : QWidget(parent), state_(state) {
    setObjectName(QStringLiteral("timelineRuler"));
    setAccessibleName(tr("Time ruler"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(state_, &TimelineState::changed, this, qOverload<>(&QWidget::update));
    connect(state_->session(), &Session::themeChanged, this, qOverload<>(&QWidget::update));
}

void RulerStrip::showAt(double x) {
    hover_ = x;
    update();
}

void RulerStrip::paintEvent(QPaintEvent*) {
    const Theme theme = state_->session()->theme();
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, theme));
    if (!state_->hasTrace()) return;
    TimelineView view = state_->view();
    view.width = width();
    paintDrawList(painter, drawRuler(state_->origin(), view, height()), theme);
    if (hover_ < 0) return;
    painter.setFont(uiFont(11, true));
    const QString words = text(rulerTime(state_->origin(), std::max(state_->origin(), state_->timeAt(hover_)), view));
    const double wide = QFontMetricsF(painter.font()).horizontalAdvance(words) + 10;
    const QRectF plate(std::clamp(hover_ - wide / 2, 0.0, std::max(0.0, width() - wide)), 2, wide, height() - 6);
    painter.fillRect(plate.adjusted(-40, -2, 40, -6),
                     qColor(ColourRole::Background, theme)); // labels it would cut in half
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(qColor(ColourRole::SurfaceRaised, theme));
    painter.drawRoundedRect(plate, 3, 3);
    painter.setPen(qColor(ColourRole::Text, theme));
    painter.drawText(plate, Qt::AlignCenter, words);
}

LabelColumn::LabelColumn(TimelineState* state, QWidget* parent) : QWidget(parent), state_(state) {
    setObjectName(QStringLiteral("timelineLabels"));
    setAccessibleName(tr("Rows of the timeline"));
    setFixedWidth(kLabelWidth);
    setMouseTracking(true);
    connect(state_, &TimelineState::changed, this, qOverload<>(&QWidget::update));
    connect(state_->session(), &Session::themeChanged, this, qOverload<>(&QWidget::update));
}

const TimelineRow* LabelColumn::rowAt(double y) const {
    for (const TimelineRow& row : state_->layout().rows)
        if (y + state_->scroll() >= row.y && y + state_->scroll() < row.y + row.height) return &row;
    return nullptr;
}

void LabelColumn::paintEvent(QPaintEvent*) {
    const Theme theme = state_->session()->theme();
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, theme));
    painter.fillRect(QRectF(width() - 1, 0, 1, height()), qColor(ColourRole::Border, theme));
    if (!state_->hasTrace()) return;
    const QFont plain = uiFont(11), bold = uiFont(11, true);
    const TraceStore& trace = *state_->analysis()->trace;
    for (const TimelineRow& row : state_->layout().rows) {
        const double y = row.y - state_->scroll();
        if (y + row.height < 0 || y > height()) continue;
        const Track& track = trace.tracks[row.track.index()];
        const bool folds = track.depths > 1;
        if (row.gpu) painter.fillRect(QRectF(0, y - 2, 3, row.height + 2), qColor(ColourRole::Accent, theme));
        // The name stays in sight while the lower part of its row is.
        const double top = std::clamp(0.0, y, std::max(y, y + row.height - row.line_height));
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(qColor(ColourRole::TextMuted, theme));
        const double cx = 13, cy = top + row.line_height / 2 - 1;
        if (folds) {
            const std::array<QPointF, 3> open = {QPointF(cx - 4, cy - 2), QPointF(cx + 4, cy - 2), QPointF(cx, cy + 3)};
            const std::array<QPointF, 3> shut = {QPointF(cx - 2, cy - 4), QPointF(cx - 2, cy + 4), QPointF(cx + 3, cy)};
            painter.drawConvexPolygon(row.collapsed ? shut.data() : open.data(), 3);
        }
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setFont(row.gpu ? bold : plain);
        painter.setPen(qColor(row.gpu ? ColourRole::Text : ColourRole::TextMuted, theme));
        const QRectF place(22, top - 1, width() - 30, row.line_height);
        painter.drawText(
            place, Qt::AlignLeft | Qt::AlignVCenter,
            painter.fontMetrics().elidedText(text(row.label), Qt::ElideMiddle, static_cast<int>(place.width())));
    }
}

bool LabelColumn::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) return QWidget::event(event);
    auto* help = static_cast<QHelpEvent*>(event);
    const TimelineRow* row = state_->hasTrace() ? rowAt(help->pos().y()) : nullptr;
    if (!row) {
        QToolTip::hideText();
        return true;
    }
    const Track& track = state_->analysis()->trace->tracks[row->track.index()];
    QString tip = text(row->label) + QChar(u'\n') + tr("%1 slices").arg(text(formatCount(track.slices)));
    if (track.depths > 1) {
        tip += QChar(u'\n') + tr("%1 of %2 levels shown").arg(row->depths).arg(track.depths);
        tip += QChar(u'\n') + (row->collapsed ? tr("Click to open") : tr("Click to fold into one line"));
    }
    QToolTip::showText(help->globalPos(), plainTip(tip), this);
    return true;
}

void LabelColumn::mousePressEvent(QMouseEvent* event) {
    const TimelineRow* row =
        state_->hasTrace() && event->button() == Qt::LeftButton ? rowAt(event->position().y()) : nullptr;
    if (row && state_->analysis()->trace->tracks[row->track.index()].depths > 1) state_->toggle(row->track);
}

void LabelColumn::wheelEvent(QWheelEvent* event) {
    state_->setScroll(state_->scroll() - event->angleDelta().y() / 2.0);
    event->accept();
}

} // namespace fusescope
