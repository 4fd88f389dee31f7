// SPDX-License-Identifier: GPL-3.0-or-later
// The picture of the graph: zoom, pan, pick, hover. What a click means for the view is told by signals.
#pragma once

#include "core/draw/graph_draw.h"
#include "ui/base/session.h"
#include "ui/graph/graph_layouter.h"

#include <QRectF>
#include <QTimer>
#include <QWidget>

#include <vector>

namespace fusescope {

class GraphCanvas : public QWidget {
    Q_OBJECT
public:
    explicit GraphCanvas(Session* session, QWidget* parent = nullptr);

    enum class Place {
        Keep,
        Anchor,
        Fit
    }; // where the new picture goes: as the old one; the anchor stays put, or, opened, is shown whole; fit width
    void setPicture(GraphPicturePtr picture, Place place, ModuleId anchor = {});
    [[nodiscard]] const GraphPicturePtr& picture() const { return picture_; }
    [[nodiscard]] const DrawList& list(); // as painted, up to date
    [[nodiscard]] double scale() const { return scale_; }
    [[nodiscard]] QPointF toWidget(QPointF content) const { return content * scale_ + offset_; }
    [[nodiscard]] QPointF toContent(QPointF widget) const { return (widget - offset_) / scale_; }

    void fitAll();
    void fitWidth();
    void zoomAt(double factor, QPointF at);
    void zoomMiddle(double factor) { zoomAt(factor, QPointF(rect().center())); }
    void zoomToSelection();
    void showSelection(); // pans until something of the selection is in sight, whole and with its label if that fits

Q_SIGNALS:
    void toggleWanted(fusescope::ModuleId module);
    void focusWanted(fusescope::ModuleId module);
    void zoomed(double scale);

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
    void dirty();
    void moveTo(double scale, QPointF offset); // clamped so that the picture stays in reach
    void panBy(QPointF pixels) { moveTo(scale_, offset_ + pixels); }
    void showTip();
    [[nodiscard]] QRectF selectedRect();
    void showOpened(const QRectF& box);
    void paintReach(QPainter& painter);
    // Of its box or cluster (open: the latter), null if neither is there.
    [[nodiscard]] QRectF rectOf(ModuleId module, bool* open = nullptr) const;
    [[nodiscard]] int nodeAt(QPointF content) const;
    [[nodiscard]] int clusterAt(QPointF content, bool header_only) const;
    [[nodiscard]] ModuleId moduleAt(QPointF content, bool& expanded) const; // what a double click there toggles

    Session* session_;
    GraphPicturePtr picture_;
    DrawList list_;
    Session::ShownFused fused_;
    std::vector<FusedGroup> groups_;
    bool list_dirty_ = true, fresh_ = true; // fresh: not yet shown at its real size
    double scale_ = 1;
    QPointF offset_, pressed_, last_;
    bool down_ = false, panning_ = false;
    QTimer tip_timer_;
    QPointF hover_;
    QPoint tip_at_;
    int hover_item_ = -1; // node, or -2 - cluster
};

} // namespace fusescope
