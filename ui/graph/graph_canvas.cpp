// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_canvas.h"

#include "ui/base/paint.h"
#include "ui/fuse/fuse_actions.h"
#include "ui/graph/graph_tip.h"

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
#include <utility>

namespace fusescope {
namespace {
constexpr double kLeast = 0.05, kMost = 6, kReadable = 0.72, kLeastWidth = 0.62, kKeyZoom = 1.25, kMargin = 16,
                 kKeyPan = 60;
constexpr double kHeader = 28; // of a cluster: its title
constexpr int kTipDelay = 300; // ms

QRectF rectFrom(const LayoutRect& r) { return {r.x, r.y, r.width, r.height}; }
} // namespace

GraphCanvas::GraphCanvas(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName(QStringLiteral("graphCanvas"));
    setAccessibleName(tr("Model graph"));
    setAccessibleDescription(tr("The wheel zooms, dragging moves, a double click opens or closes a module. F fits, "
                                "Enter opens the selected module."));
    setFocusPolicy(Qt::WheelFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    tip_timer_.setSingleShot(true);
    tip_timer_.setInterval(kTipDelay);
    connect(&tip_timer_, &QTimer::timeout, this, &GraphCanvas::showTip);
    connect(session_, &Session::selectionChanged, this, &GraphCanvas::dirty);
    connect(session_, &Session::measuredChanged, this, &GraphCanvas::dirty);
    connect(session_, &Session::regionsChanged, this, &GraphCanvas::dirty);
    connect(session_, &Session::themeChanged, this, qOverload<>(&QWidget::update));
}

void GraphCanvas::dirty() {
    list_dirty_ = true;
    update();
}

const DrawList& GraphCanvas::list() {
    if (list_dirty_) {
        const AnalysisPtr& analysis = session_->analysis();
        const bool ours = picture_ && analysis && analysis->graph == picture_->graph;
        fused_ = ours ? session_->shownFused() : nullptr;
        const bool some = fused_ && !fused_->empty();
        groups_ = some ? fusedGroups(*analysis, picture_->visible, *fused_) : std::vector<FusedGroup>();
        list_ = ours ? drawGraph(*analysis, picture_->visible, picture_->layout, session_->selection(), *fused_,
                                 &session_->measuredPlan().marked)
                     : DrawList{};
        list_dirty_ = false;
    }
    return list_;
}

void GraphCanvas::setPicture(GraphPicturePtr picture, Place place, ModuleId anchor) {
    const QRectF before = place == Place::Anchor ? rectOf(anchor) : QRectF();
    const QPointF held = toWidget(QPointF(before.center().x(), before.top()));
    picture_ = std::move(picture);
    dirty();
    hover_item_ = -1;
    if (!picture_) return;
    bool opened = false;
    const QRectF after = place == Place::Anchor ? rectOf(anchor, &opened) : QRectF();
    if (place == Place::Fit)
        fitWidth();
    else if (opened)
        showOpened(after);
    else if (!before.isNull() && !after.isNull())
        moveTo(scale_, held - QPointF(after.center().x(), after.top()) * scale_);
    else
        moveTo(scale_, offset_);
}

void GraphCanvas::moveTo(double scale, QPointF offset) {
    const bool rescaled = scale != scale_;
    scale_ = scale;
    // Half of the view, or of the picture where that is smaller, always shows the picture.
    const double w = list().width * scale_, h = list().height * scale_;
    const double keep_x = std::min(width() / 2.0, w / 2), keep_y = std::min(height() / 2.0, h / 2);
    offset_.setX(
        std::clamp(offset.x(), std::min(keep_x - w, width() - keep_x), std::max(keep_x - w, width() - keep_x)));
    offset_.setY(
        std::clamp(offset.y(), std::min(keep_y - h, height() - keep_y), std::max(keep_y - h, height() - keep_y)));
    update();
    if (rescaled) Q_EMIT zoomed(scale_);
}

void GraphCanvas::fitAll() {
    const double w = std::max(1.0, list().width), h = std::max(1.0, list().height);
    const double scale = std::clamp(std::min((width() - 2 * kMargin) / w, (height() - 2 * kMargin) / h), kLeast, 1.5);
    moveTo(scale, {(width() - w * scale) / 2, (height() - h * scale) / 2});
}

void GraphCanvas::fitWidth() {
    fresh_ = !isVisible();
    const double w = std::max(1.0, list().width), h = std::max(1.0, list().height);
    const double whole = std::min((width() - 2 * kMargin) / w, (height() - 2 * kMargin) / h);
    if (whole >= kReadable) return fitAll();
    const double scale = std::clamp((width() - 2 * kMargin) / w, kLeastWidth, 1.1);
    // Too wide to be read as a whole: the middle, from the top on.
    moveTo(scale, {(width() - w * scale) / 2, h * scale <= height() ? (height() - h * scale) / 2 : kMargin});
}

// What was opened is what one wants to see: all of it if it can be read at that size, else from its title on.
void GraphCanvas::showOpened(const QRectF& box) {
    const double fitting = std::min((width() - 2 * kMargin) / std::max(1.0, box.width()),
                                    (height() - 2 * kMargin) / std::max(1.0, box.height()));
    const double scale = std::clamp(fitting, kReadable, 1.0);
    QPointF offset = QPointF(rect().center()) - box.center() * scale;
    if (box.height() * scale > height() - 2 * kMargin) offset.setY(kMargin - box.top() * scale);
    moveTo(scale, offset);
}

void GraphCanvas::zoomAt(double factor, QPointF at) {
    const QPointF fixed = toContent(at);
    const double scale = std::clamp(scale_ * factor, kLeast, kMost);
    moveTo(scale, at - fixed * scale);
}

QRectF GraphCanvas::selectedRect() {
    QRectF all;
    if (session_->selection().pick.kind == PickKind::None) return all;
    for (const DrawRect& r : list().rects)
        if (r.emphasis == Emphasis::Selected) all |= QRectF(r.x, r.y, r.width, r.height);
    return all;
}

void GraphCanvas::zoomToSelection() {
    const QRectF box = selectedRect();
    if (box.isEmpty()) return;
    const double scale =
        std::clamp(std::min((width() - 96) / box.width(), (height() - 96) / box.height()), kLeast, 1.5);
    moveTo(scale, QPointF(rect().center()) - box.center() * scale);
}

void GraphCanvas::showSelection() {
    if (session_->selection().pick.kind == PickKind::None) return;
    const QRectF view(toContent({0, 0}), toContent(QPointF(width(), height())));
    const auto box = [](const DrawRect& r) { return QRectF(r.x, r.y, r.width, r.height); };
    QRectF wanted;
    bool in_sight = false;
    for (const DrawRect& r : list().rects) {
        if (r.emphasis != Emphasis::Selected) continue;
        if (wanted.isNull() || (!in_sight && view.intersects(box(r)))) wanted = box(r);
        in_sight = in_sight || view.intersects(wanted);
    }
    if (wanted.isNull()) return;
    const auto fits = [&](const QRectF& all) { return all.width() <= view.width() && all.height() <= view.height(); };
    for (const DrawRect& r : list().rects) // labels lie across its edge, frames around it
        if (r.emphasis != Emphasis::Dimmed && box(r).intersects(wanted) && !box(r).contains(wanted) &&
            fits(wanted | box(r)))
            wanted |= box(r);
    if (!in_sight) return moveTo(scale_, QPointF(rect().center()) - wanted.center() * scale_);
    if (!fits(wanted) || view.contains(wanted)) return;
    const QPointF by(std::max(0.0, view.left() - wanted.left()) - std::max(0.0, wanted.right() - view.right()),
                     std::max(0.0, view.top() - wanted.top()) - std::max(0.0, wanted.bottom() - view.bottom()));
    moveTo(scale_, offset_ + by * scale_);
}

QRectF GraphCanvas::rectOf(ModuleId module, bool* open) const {
    if (open) *open = false;
    if (!picture_ || !module.valid()) return {};
    const VisibleGraph& v = picture_->visible;
    for (std::size_t i = 0; i < std::min(v.clusters.size(), picture_->layout.clusters.size()); ++i)
        if (v.clusters[i].module == module) {
            if (open) *open = true;
            return rectFrom(picture_->layout.clusters[i]);
        }
    for (std::size_t i = 0; i < std::min(v.nodes.size(), picture_->layout.boxes.size()); ++i)
        if (v.nodes[i].kind == VisibleKind::Module && v.nodes[i].module == module)
            return rectFrom(picture_->layout.boxes[i]);
    return {};
}

int GraphCanvas::nodeAt(QPointF content) const {
    if (!picture_) return -1;
    for (std::size_t i = std::min(picture_->visible.nodes.size(), picture_->layout.boxes.size()); i-- > 0;)
        if (rectFrom(picture_->layout.boxes[i]).contains(content)) return static_cast<int>(i);
    return -1;
}

int GraphCanvas::clusterAt(QPointF content, bool header_only) const {
    if (!picture_) return -1;
    for (std::size_t i = std::min(picture_->visible.clusters.size(), picture_->layout.clusters.size()); i-- > 0;) {
        const QRectF box =
            rectFrom(picture_->layout.clusters[i]); // parents stand before children: the first hit is the deepest
        if (box.contains(content)) return !header_only || content.y() < box.top() + kHeader ? static_cast<int>(i) : -1;
    }
    return -1;
}

ModuleId GraphCanvas::moduleAt(QPointF content, bool& expanded) const {
    expanded = false;
    if (const int node = nodeAt(content); node >= 0) {
        const VisibleNode& n = picture_->visible.nodes[static_cast<std::size_t>(node)];
        return n.kind == VisibleKind::Module && n.expandable ? n.module : ModuleId{};
    }
    const int cluster = clusterAt(content, true);
    if (cluster < 0) return {};
    expanded = true;
    return picture_->visible.clusters[static_cast<std::size_t>(cluster)].module;
}

void GraphCanvas::resizeEvent(QResizeEvent* event) {
    if (!picture_) return;
    if (fresh_ || !event->oldSize().isValid()) return fitWidth();
    // What was in the middle stays in the middle.
    panBy(QPointF(width() - event->oldSize().width(), 0) / 2);
}

void GraphCanvas::paintEvent(QPaintEvent*) {
    if (fresh_ && picture_) fitWidth();
    QPainter painter(this);
    painter.fillRect(rect(), qColor(ColourRole::Background, session_->theme()));
    painter.save();
    painter.translate(offset_);
    painter.scale(scale_, scale_);
    paintDrawList(painter, list(), session_->theme(), QRectF(toContent({0, 0}), toContent(QPointF(width(), height()))));
    painter.restore();
    if (picture_) paintReach(painter);
    if (picture_ && !picture_->visible.note.empty()) {
        painter.setFont(uiFont(12));
        const QString note =
            painter.fontMetrics().elidedText(text(picture_->visible.note), Qt::ElideRight, width() - 32);
        const QRectF plate(8, height() - 32, painter.fontMetrics().horizontalAdvance(note) + 16, 24);
        painter.fillRect(plate, qColor(ColourRole::SurfaceRaised, session_->theme()));
        painter.setPen(qColor(ColourRole::TextMuted, session_->theme()));
        painter.drawText(plate, Qt::AlignCenter, note);
    }
    if (hasFocus()) {
        painter.setPen(QPen(qColor(ColourRole::Accent, session_->theme()), 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

// Where the picture goes on beyond the view: thin bars at the edges tell which part of it is in sight.
void GraphCanvas::paintReach(QPainter& painter) {
    constexpr double thick = 4, inset = 2, least = 24;
    QColor ink = qColor(ColourRole::TextMuted, session_->theme());
    ink.setAlphaF(0.55F);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(ink);
    const auto bar = [&](double length, double view, double offset, auto&& rectangle) {
        // Margins beside the picture do not count.
        const double low = std::max(0.0, -offset), high = std::min(length, view - offset);
        if (low < 1 && high > length - 1) return;
        const double size = std::max(least, view * std::max(0.0, high - low) / length);
        const double at = (view - size) * std::clamp(low / std::max(1.0, length - (high - low)), 0.0, 1.0);
        painter.drawRoundedRect(rectangle(at, size), thick / 2, thick / 2);
    };
    bar(list().height * scale_, height(), offset_.y(),
        [&](double at, double size) { return QRectF(width() - thick - inset, at + inset, thick, size - 2 * inset); });
    bar(list().width * scale_, width(), offset_.x(),
        [&](double at, double size) { return QRectF(at + inset, height() - thick - inset, size - 2 * inset, thick); });
    painter.restore();
}

bool GraphCanvas::event(QEvent* event) {
    if (event->type() == QEvent::NativeGesture) {
        auto* gesture = static_cast<QNativeGestureEvent*>(event);
        if (gesture->gestureType() == Qt::ZoomNativeGesture) {
            zoomAt(1 + gesture->value(), gesture->position());
            return true;
        }
    }
    return QWidget::event(event);
}

void GraphCanvas::wheelEvent(QWheelEvent* event) {
    if (event->modifiers() & (Qt::ShiftModifier | Qt::AltModifier)) {
        const QPointF by = QPointF(event->angleDelta()) / 2;
        panBy(event->modifiers() & Qt::ShiftModifier && by.x() == 0 ? QPointF(by.y(), 0) : by);
    } else if (event->angleDelta().y() != 0)
        zoomAt(std::pow(1.2, event->angleDelta().y() / 120.0), event->position());
    event->accept();
}

void GraphCanvas::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    pressed_ = last_ = event->position();
    down_ = true;
    panning_ = false;
    tip_timer_.stop();
    QToolTip::hideText();
}

void GraphCanvas::mouseMoveEvent(QMouseEvent* event) {
    hover_ = event->position();
    tip_at_ = event->globalPosition().toPoint();
    if (down_) {
        if (!panning_ && (hover_ - pressed_).manhattanLength() >= QApplication::startDragDistance()) {
            panning_ = true;
            setCursor(Qt::ClosedHandCursor);
        }
        if (panning_) panBy(hover_ - std::exchange(last_, hover_));
        return;
    }
    const QPointF content = toContent(hover_);
    const int node = nodeAt(content), cluster = node < 0 ? clusterAt(content, true) : -1;
    const int item = node >= 0 ? node : cluster >= 0 ? -2 - cluster : -1;
    if (item == hover_item_) return;
    hover_item_ = item;
    QToolTip::hideText();
    setCursor(item == -1 ? Qt::ArrowCursor : Qt::PointingHandCursor);
    if (item == -1)
        tip_timer_.stop();
    else
        tip_timer_.start();
}

void GraphCanvas::mouseReleaseEvent(QMouseEvent* event) {
    const bool click =
        std::exchange(down_, false) && !std::exchange(panning_, false) && event->button() == Qt::LeftButton;
    setCursor(Qt::ArrowCursor);
    if (!click) return;
    const Pick pick = pickAt(list(), toContent(event->position()));
    if (!(event->modifiers() & Qt::ControlModifier) || pick.kind != PickKind::Node) return session_->pick(pick);
    const SelectionSets& now = session_->selection(); // one more, or one less
    std::vector<NodeId> nodes;
    if (now.pick.kind == PickKind::Node || now.pick.kind == PickKind::Nodes) nodes = now.nodes;
    const auto at = std::lower_bound(nodes.begin(), nodes.end(), NodeId(pick.id));
    if (at != nodes.end() && *at == NodeId(pick.id))
        nodes.erase(at);
    else
        nodes.insert(at, NodeId(pick.id));
    session_->pickNodes(std::move(nodes));
}

void GraphCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
    bool expanded = false;
    const ModuleId module = moduleAt(toContent(event->position()), expanded);
    if (module.valid()) Q_EMIT toggleWanted(module);
}

void GraphCanvas::leaveEvent(QEvent*) {
    tip_timer_.stop();
    hover_item_ = -1;
}

void GraphCanvas::showTip() {
    if (down_ || hover_item_ == -1 || !picture_ || !underMouse() || !session_->analysis()) return;
    const Analysis& analysis = *session_->analysis();
    if (hover_item_ >= 0) {
        QString tip = nodeTip(analysis, picture_->visible.nodes[static_cast<std::size_t>(hover_item_)]);
        for (const FusedGroup& group : groups_)
            if (std::binary_search(group.boxes.begin(), group.boxes.end(), hover_item_))
                tip += fusedTip(analysis, group, session_->measured());
        return QToolTip::showText(tip_at_, tip, this);
    }
    const VisibleCluster& cluster = picture_->visible.clusters[static_cast<std::size_t>(-2 - hover_item_)];
    QToolTip::showText(tip_at_, moduleTip(analysis, cluster.module, cluster.repeat), this);
}

void GraphCanvas::keyPressEvent(QKeyEvent* event) {
    if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
        return QWidget::keyPressEvent(event);
    const SelectionSets& selection = session_->selection();
    switch (event->key()) {
    case Qt::Key_F: return fitAll();
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoomMiddle(kKeyZoom);
    case Qt::Key_Minus: return zoomMiddle(1 / kKeyZoom);
    case Qt::Key_Left: return panBy({kKeyPan, 0});
    case Qt::Key_Right: return panBy({-kKeyPan, 0});
    case Qt::Key_Up: return panBy({0, kKeyPan});
    case Qt::Key_Down: return panBy({0, -kKeyPan});
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (selection.pick.kind == PickKind::Module) return Q_EMIT toggleWanted(ModuleId(selection.pick.id));
        break;
    case Qt::Key_Escape:
        if (selection.pick.kind != PickKind::None) return session_->clear();
        break;
    default: break;
    }
    QWidget::keyPressEvent(event);
}

void GraphCanvas::contextMenuEvent(QContextMenuEvent* event) {
    if (!picture_) return;
    const QPointF content = toContent(event->reason() == QContextMenuEvent::Mouse ? event->pos() : rect().center());
    const int node = nodeAt(content), cluster = node < 0 ? clusterAt(content, false) : -1;
    bool expanded = cluster >= 0;
    ModuleId module;
    QString name;
    bool can = expanded;
    if (node >= 0) {
        const VisibleNode& n = picture_->visible.nodes[static_cast<std::size_t>(node)];
        name = text(n.title);
        if (n.kind == VisibleKind::Op) name = text(picture_->graph->ops.name(n.node));
        if (n.kind == VisibleKind::Module) {
            module = n.module;
            can = n.expandable;
        }
    } else if (cluster >= 0)
        module = picture_->visible.clusters[static_cast<std::size_t>(cluster)].module;
    if (module.valid()) name = text(picture_->graph->modules.at(module).path);

    QMenu menu(this);
    connect(session_, &Session::analysisChanged, &menu, &QMenu::close); // it speaks of what is gone then
    if (module.valid()) {
        QAction* toggle = menu.addAction(expanded ? tr("&Collapse") : tr("&Expand"), this,
                                         [this, module] { Q_EMIT toggleWanted(module); });
        toggle->setEnabled(can);
        menu.addAction(tr("&Show only this"), this, [this, module] { Q_EMIT focusWanted(module); })->setEnabled(can);
    }
    if (picture_->state.focus.valid())
        menu.addAction(tr("Show the &whole model"), this, [this] { Q_EMIT focusWanted({}); });
    if (!name.isEmpty()) menu.addAction(tr("Copy &name"), this, [name] { QApplication::clipboard()->setText(name); });
    menu.addSeparator();
    if (node >= 0 && picture_->visible.nodes[static_cast<std::size_t>(node)].kind == VisibleKind::Op)
        addFuseActions(menu, session_,
                       {PickKind::Node, picture_->visible.nodes[static_cast<std::size_t>(node)].node.value});
    else if (module.valid())
        addFuseActions(menu, session_, {PickKind::Module, module.value});
    menu.addAction(tr("&Fit"), this, &GraphCanvas::fitAll);
    menu.addAction(tr("Fit the w&idth"), this, &GraphCanvas::fitWidth);
    menu.exec(event->globalPos());
}

} // namespace fusescope
