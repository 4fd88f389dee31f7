// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_canvas.h"

#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_actions.h"
#include "ui/timeline/slice_tip.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {
constexpr double kKeyZoom = 1.4, kKeyPan = 0.15;
constexpr int kTipDelay = 250; // ms
} // namespace

TimelineCanvas::TimelineCanvas(TimelineState* state, QWidget* parent) : QWidget(parent), state_(state) {
    connect(state->session(), &Session::markedRangeChanged, this, [this] { // something was picked instead
        const auto [begin, end] = state_->session()->markedRange();
        if (begin == end && drag_ != Drag::Mark && mark0_ != mark1_) clearMarkedRange();
    });
    setObjectName(QStringLiteral("timelineCanvas"));
    setAccessibleName(tr("Kernel timeline"));
    setAccessibleDescription(tr(
        "CPU threads above, GPU streams below. W and S zoom, A and D move, F shows the selection, T shows the step as "
        "recorded or after fusing."));
    setFocusPolicy(Qt::WheelFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    tip_timer_.setSingleShot(true);
    tip_timer_.setInterval(kTipDelay);
    connect(&tip_timer_, &QTimer::timeout, this, &TimelineCanvas::showTip);
    connect(state_, &TimelineState::changed, this, &TimelineCanvas::dirty);
    for (const auto change :
         {&Session::selectionChanged, &Session::measuredChanged, &Session::analysisChanged, &Session::regionsChanged})
        connect(state_->session(), change, this, &TimelineCanvas::dirty);
    connect(state_->session(), &Session::themeChanged, this, &TimelineCanvas::dirty);
    connect(state_->session(), &Session::analysisChanged, this, [this] {
        mark0_ = mark1_ = 0;
        drag_ = Drag::None; // what was held is gone
    });
}

void TimelineCanvas::dirty() {
    list_dirty_ = pixels_dirty_ = true;
    update();
}

const DrawList& TimelineCanvas::picture() {
    if (list_dirty_) {
        fused_ = state_->hasTrace() ? state_->session()->shownFused() : nullptr;
        list_ = state_->hasTrace() ? drawTimeline(*state_->analysis(), state_->layout(), state_->view(),
                                                  state_->session()->selection(), *fused_, state_->after(),
                                                  &state_->session()->measuredPlan().marked)
                                   : DrawList{};
        list_dirty_ = false;
    }
    return list_;
}

void TimelineCanvas::resizeEvent(QResizeEvent*) {
    state_->setViewport(width(), height());
    dirty();
}

void TimelineCanvas::paintEvent(QPaintEvent*) {
    const Theme theme = state_->session()->theme();
    const double ratio = devicePixelRatioF();
    const QSize wanted = (QSizeF(size()) * ratio).toSize();
    if (pixels_dirty_ || pixels_.size() != wanted) {
        if (pixels_.size() != wanted) {
            pixels_ = QPixmap(wanted);
            pixels_.setDevicePixelRatio(ratio);
        }
        pixels_.fill(qColor(ColourRole::Background, theme));
        QPainter painter(&pixels_);
        paintDrawList(painter, picture(), theme, QRectF(rect()));
        pixels_dirty_ = false;
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, pixels_);
    if (hover_x_ >= 0 && drag_ == Drag::None) {
        QColor line = qColor(ColourRole::TextMuted, theme);
        line.setAlphaF(0.5F);
        painter.fillRect(QRectF(std::floor(hover_x_), 0, 1, height()), line);
    }
    if (mark0_ != mark1_) paintMarkedRange(painter);
    if (hasFocus()) {
        painter.setPen(QPen(qColor(ColourRole::Accent, theme), 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

void TimelineCanvas::paintMarkedRange(QPainter& painter) {
    const Theme theme = state_->session()->theme();
    const std::int64_t t0 = std::min(mark0_, mark1_), t1 = std::max(mark0_, mark1_);
    const double x0 = std::clamp(state_->xAt(t0), -2.0, width() + 2.0),
                 x1 = std::clamp(state_->xAt(t1), -2.0, width() + 2.0);
    if (x1 < 0 || x0 > width()) return;
    const QColor accent = qColor(ColourRole::Accent, theme);
    QColor veil = accent;
    veil.setAlphaF(0.12F);
    painter.fillRect(QRectF(x0, 0, x1 - x0, height()), veil);
    painter.fillRect(QRectF(std::floor(x0), 0, 1, height()), accent);
    painter.fillRect(QRectF(std::floor(x1), 0, 1, height()), accent);
    const RangeFacts facts = factsOfRange(*state_->analysis(), t0, t1, state_->after());
    const QString kernels = facts.kernels == 1
                                ? tr("1 kernel")
                                : tr("%1 kernels").arg(text(formatCount(static_cast<std::int64_t>(facts.kernels))));
    const QString words = tr("%1 · GPU busy %2 (%3) · %4")
                              .arg(text(formatDuration(facts.span_ns)), text(formatDuration(facts.busy_ns)),
                                   text(formatPercent(facts.span_ns > 0 ? facts.busy_ns / facts.span_ns : 0)), kernels);
    painter.setFont(uiFont(12, true));
    const QFontMetricsF metrics(painter.font());
    const double wide = metrics.horizontalAdvance(words) + 16;
    const QRectF plate(std::clamp((x0 + x1) / 2 - wide / 2, 4.0, std::max(4.0, width() - wide - 4.0)), 6, wide, 24);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(accent, 1));
    painter.setBrush(qColor(ColourRole::Surface, theme));
    painter.drawRoundedRect(plate, 4, 4);
    painter.setPen(qColor(ColourRole::Text, theme));
    painter.drawText(plate, Qt::AlignCenter, words);
    painter.setRenderHint(QPainter::Antialiasing, false);
}

void TimelineCanvas::clearMarkedRange() {
    mark0_ = mark1_ = 0;
    state_->session()->setMarkedRange(0, 0);
    update();
}

double TimelineCanvas::focusX() const {
    const QPoint at = mapFromGlobal(QCursor::pos());
    return hover_x_ >= 0 && rect().contains(at) ? at.x() : width() / 2.0;
}

SliceId TimelineCanvas::sliceUnder(QPointF at) const {
    return state_->hasTrace()
               ? sliceAt(*state_->analysis(), state_->layout(), state_->view(), at.x(), at.y(), state_->after())
               : SliceId{};
}

bool TimelineCanvas::event(QEvent* event) {
    // The window's own shortcut for Escape lets go of the selection; a marked range goes first.
    if (event->type() == QEvent::ShortcutOverride && mark0_ != mark1_ &&
        static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape) {
        event->accept();
        return true;
    }
    if (event->type() == QEvent::NativeGesture) {
        auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            state_->zoomAt(1 + gesture->value(), gesture->position().x());
            return true;
        }
    }
    return QWidget::event(event);
}

void TimelineCanvas::wheelEvent(QWheelEvent* event) {
    const QPointF angle = event->angleDelta(), pixels = event->pixelDelta();
    const double dx = pixels.isNull() ? angle.x() / 2.0 : pixels.x(),
                 dy = pixels.isNull() ? angle.y() / 2.0 : pixels.y();
    if (event->modifiers() & Qt::ControlModifier)
        state_->zoomAt(std::pow(1.3, dy / 60), event->position().x());
    else if (event->modifiers() & Qt::ShiftModifier)
        state_->panBy(-(dx != 0 ? dx : dy));
    else {
        if (dy != 0) state_->setScroll(state_->scroll() - dy);
        if (dx != 0) state_->panBy(-dx);
    }
    event->accept();
}

void TimelineCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    pressed_ = last_ = event->position();
    tip_timer_.stop();
    QToolTip::hideText();
    if (!state_->hasTrace()) return;
    if (event->button() == Qt::LeftButton && event->modifiers() & Qt::ShiftModifier) {
        drag_ = Drag::Mark;
        mark0_ = mark1_ = state_->timeAt(pressed_.x());
    } else
        drag_ = Drag::Pressed;
    update();
}

void TimelineCanvas::mouseMoveEvent(QMouseEvent* event) {
    const QPointF at = event->position();
    hover_x_ = at.x();
    Q_EMIT hovered(hover_x_);
    if (drag_ == Drag::Pressed && (at - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
        drag_ = Drag::Pan;
        setCursor(Qt::ClosedHandCursor);
    }
    if (drag_ == Drag::Pan) {
        state_->panBy(last_.x() - at.x());
        state_->setScroll(state_->scroll() + last_.y() - at.y());
        last_ = at;
    } else if (drag_ == Drag::Mark) {
        mark1_ = std::clamp(state_->timeAt(at.x()), state_->analysis()->trace->begin, state_->analysis()->trace->end);
        update();
    } else if (drag_ == Drag::None) {
        const SliceId slice = sliceUnder(at);
        if (slice != tip_slice_) {
            tip_slice_ = slice;
            QToolTip::hideText();
            setCursor(slice.valid() ? Qt::PointingHandCursor : Qt::ArrowCursor);
            if (slice.valid())
                tip_timer_.start();
            else
                tip_timer_.stop();
        }
        tip_at_ = event->globalPosition().toPoint();
        update();
    }
}

void TimelineCanvas::mouseReleaseEvent(QMouseEvent* event) {
    const Drag was = std::exchange(drag_, Drag::None);
    if (was == Drag::Pan) setCursor(Qt::ArrowCursor);
    update();
    if (was == Drag::Mark) state_->session()->setMarkedRange(mark0_, mark1_);
    if (was != Drag::Pressed || event->button() != Qt::LeftButton || !state_->hasTrace()) return;
    clearMarkedRange();
    Pick pick = pickAt(picture(), event->position());
    if (pick.kind == PickKind::None) {
        const SliceId slice = sliceUnder(event->position());
        if (slice.valid()) {
            const TraceStore& trace = *state_->analysis()->trace;
            const bool kernel = trace.slices.category[slice.index()] == Category::Kernel &&
                                trace.slices.detail[slice.index()] < trace.kernels.size();
            pick = kernel ? Pick{PickKind::Kernel, trace.slices.detail[slice.index()]}
                          : Pick{PickKind::Slice, slice.value};
        }
    }
    state_->session()->pick(pick);
}

void TimelineCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    const SliceId slice = sliceUnder(event->position());
    if (!slice.valid()) return;
    const auto [begin, end] = shownSpan(*state_->analysis(), state_->after(), slice);
    state_->showSpan(begin, end, true);
}

void TimelineCanvas::leaveEvent(QEvent*) {
    hover_x_ = -1;
    tip_slice_ = {};
    tip_timer_.stop();
    Q_EMIT hovered(-1);
    update();
}

void TimelineCanvas::showTip() {
    if (!tip_slice_.valid() || drag_ != Drag::None || !state_->hasTrace() || !underMouse()) return;
    QToolTip::showText(tip_at_, sliceTip(*state_->analysis(), tip_slice_, state_->after()), this);
}

void TimelineCanvas::keyPressEvent(QKeyEvent* event) {
    const double page = width() * kKeyPan;
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return QWidget::keyPressEvent(event);
    switch (event->key()) {
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal: return state_->zoomAt(kKeyZoom, focusX());
    case Qt::Key_S:
    case Qt::Key_Minus: return state_->zoomAt(1 / kKeyZoom, focusX());
    case Qt::Key_A:
    case Qt::Key_Left: return state_->panBy(-page);
    case Qt::Key_D:
    case Qt::Key_Right: return state_->panBy(page);
    case Qt::Key_Up: return state_->setScroll(state_->scroll() - 36);
    case Qt::Key_Down: return state_->setScroll(state_->scroll() + 36);
    case Qt::Key_PageUp: return state_->panBy(-width() * 0.9);
    case Qt::Key_PageDown: return state_->panBy(width() * 0.9);
    case Qt::Key_F: {
        std::int64_t begin = 0, end = 0;
        TrackId track;
        if (state_->selectedSpan(begin, end, track)) {
            state_->scrollTo(track);
            state_->showSpan(begin, end, true);
        }
        return;
    }
    case Qt::Key_Escape:
        if (mark0_ != mark1_) return clearMarkedRange();
        if (state_->session()->selection().pick.kind != PickKind::None) return state_->session()->clear();
        break;
    default: break;
    }
    QWidget::keyPressEvent(event);
}

void TimelineCanvas::contextMenuEvent(QContextMenuEvent* event) {
    if (!state_->hasTrace()) return;
    QMenu menu(this);
    connect(state_->session(), &Session::analysisChanged, &menu, &QMenu::close); // it speaks of what is gone then
    const SliceId slice = sliceUnder(event->pos());
    if (slice.valid()) {
        const AnalysisPtr analysis = state_->analysis();
        menu.addAction(tr("&Zoom to this"), this, [this, analysis, slice] {
            const auto [begin, end] = shownSpan(*analysis, state_->after(), slice);
            state_->showSpan(begin, end, true);
        });
        menu.addAction(tr("&Copy name"), this,
                       [analysis, slice] { QApplication::clipboard()->setText(text(analysis->trace->nameOf(slice))); });
        menu.addSeparator();
        const bool kernel = analysis->trace->slices.category[slice.index()] == Category::Kernel;
        addFuseActions(menu, state_->session(),
                       kernel ? Pick{PickKind::Kernel, analysis->trace->slices.detail[slice.index()]}
                              : Pick{PickKind::Slice, slice.value});
    }
    if (const auto [begin, end] = state_->session()->markedRange(); begin < end) {
        addRegionAction(menu, state_->session(), selectedWork(*state_->session()));
        menu.addSeparator();
    }
    menu.addAction(tr("Whole &step"), state_, &TimelineState::showStep);
    menu.addAction(tr("Whole &trace"), state_, &TimelineState::showAll);
    menu.addSeparator();
    QAction* all = menu.addAction(tr("Show all &depths"));
    all->setCheckable(true);
    all->setChecked(state_->allDepths());
    connect(all, &QAction::toggled, state_, &TimelineState::setAllDepths);
    if (state_->canShowAfter()) {
        QAction* after = menu.addAction(tr("&After fusing"));
        after->setCheckable(true);
        after->setChecked(state_->after() != nullptr);
        connect(after, &QAction::toggled, state_, &TimelineState::setAfter);
    }
    menu.exec(event->globalPos());
}

} // namespace fusescope
