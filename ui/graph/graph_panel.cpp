// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_panel.h"

#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/graph/breadcrumb.h"
#include "ui/graph/graph_canvas.h"
#include "ui/graph/graph_layouter.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QStackedLayout>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace fusescope {

struct GraphPanel::Impl {
    Session* session = nullptr;
    GraphLayouter* layouter = nullptr;
    GraphCanvas* canvas = nullptr;
    Breadcrumb* crumbs = nullptr;
    QLabel* zoom = nullptr;
    QWidget* tools = nullptr;
    QProgressBar* busy = nullptr;
    QTimer* busy_timer = nullptr;
    QStackedLayout* stack = nullptr;
    EmptyNote *none = nullptr, *waiting = nullptr;

    GraphPtr graph;
    GraphViewState state;
    GraphCanvas::Place place = GraphCanvas::Place::Fit;
    ModuleId anchor;

    void lay(GraphCanvas::Place where, ModuleId at = {}) {
        place = where;
        anchor = at;
        layouter->start(graph, state);
        busy_timer->start();
    }
    void load() {
        const AnalysisPtr& analysis = session->analysis();
        GraphPtr now = analysis ? analysis->graph : nullptr;
        const bool same = now == graph;
        graph = std::move(now);
        tools->setVisible(graph != nullptr);
        if (!graph) {
            layouter->stop();
            busy_timer->stop();
            busy->setVisible(false);
            canvas->setPicture(nullptr, GraphCanvas::Place::Keep);
            stack->setCurrentWidget(none);
        } else if (!same) {
            canvas->setPicture(nullptr,
                               GraphCanvas::Place::Keep); // of another model: it must not be taken for this one
            stack->setCurrentWidget(waiting);
            state = defaultView(*graph);
            lay(GraphCanvas::Place::Fit);
        } else
            canvas->setPicture(canvas->picture(), GraphCanvas::Place::Keep); // other figures in the same boxes
        showCrumbs();
    }
    void showCrumbs() const {
        ModuleId selected;
        const Pick pick = session->selection().pick;
        if (graph && pick.kind == PickKind::Module)
            selected = ModuleId(pick.id);
        else if (graph && pick.kind == PickKind::Node && pick.id < graph->ops.nodes.size())
            selected = graph->ops.at(NodeId(pick.id)).module;
        if (graph && selected.valid() && selected.index() >= graph->modules.modules.size()) selected = {};
        crumbs->show(graph ? &graph->modules : nullptr, state.focus, selected);
    }
};

GraphPanel::GraphPanel(Session* session, QWidget* parent) : QWidget(parent), impl_(std::make_unique<Impl>()) {
    Impl& d = *impl_;
    setObjectName(QStringLiteral("graphPanel"));
    setAccessibleName(tr("Model graph"));
    d.session = session;
    d.layouter = new GraphLayouter(this);
    d.canvas = new GraphCanvas(session, this);
    d.crumbs = new Breadcrumb(this);
    d.zoom = new QLabel(this);
    d.zoom->setForegroundRole(QPalette::PlaceholderText);
    d.zoom->setMinimumWidth(44);
    d.zoom->setAlignment(Qt::AlignCenter);
    d.none = new EmptyNote(
        session, tr("No model graph is open"),
        tr("Open a program saved by torch.export.save() (*.pt2) to see its modules and operators, with the "
           "fusable regions marked."),
        this);
    d.waiting = new EmptyNote(session, tr("Laying out the graph…"), {}, this);

    const auto button = [this](const QString& words, const QString& tip, auto&& act) {
        auto* made = new QToolButton(this);
        made->setText(words);
        made->setToolTip(tip);
        made->setAccessibleName(tip);
        made->setAutoRaise(true);
        made->setFocusPolicy(Qt::TabFocus);
        connect(made, &QToolButton::clicked, this, act);
        return made;
    };
    d.tools = new QWidget(this);
    auto* bar = new QHBoxLayout(d.tools);
    bar->setContentsMargins(0, 2, 4, 2);
    bar->setSpacing(0);
    bar->addWidget(d.crumbs, 1);
    bar->addWidget(button(QStringLiteral("−"), tr("Zoom out (-)"), [this] { zoomOut(); }));
    bar->addWidget(d.zoom);
    bar->addWidget(button(QStringLiteral("+"), tr("Zoom in (+)"), [this] { zoomIn(); }));
    bar->addWidget(button(tr("Fit"), tr("Show the whole picture (F)"), [this] { fit(); }));
    bar->addWidget(
        button(tr("Width"), tr("Fit the width, in a size that can be read"), [this] { impl_->canvas->fitWidth(); }));
    bar->addWidget(button(tr("Reset"), tr("Back to the first view: one layer open"), [this] {
        impl_->state = defaultView(*impl_->graph);
        impl_->lay(GraphCanvas::Place::Fit);
        impl_->showCrumbs();
    }));
    d.busy = new QProgressBar(this);
    d.busy->setRange(0, 0);
    d.busy->setTextVisible(false);
    d.busy->setFixedHeight(3);
    d.busy->setAccessibleName(tr("Laying out the graph"));
    d.busy->setVisible(false);
    d.busy_timer = new QTimer(this);
    d.busy_timer->setSingleShot(true);
    d.busy_timer->setInterval(150); // short waits need no sign
    connect(d.busy_timer, &QTimer::timeout, this, [this] { impl_->busy->setVisible(impl_->layouter->running()); });

    auto* below = new QWidget(this);
    d.stack = new QStackedLayout(below);
    d.stack->setContentsMargins(0, 0, 0, 0);
    d.stack->addWidget(d.none);
    d.stack->addWidget(d.waiting);
    d.stack->addWidget(d.canvas);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(d.tools);
    column->addWidget(d.busy);
    column->addWidget(below, 1);
    setFocusProxy(d.canvas);

    connect(d.layouter, &GraphLayouter::finished, this, [this](const GraphPicturePtr& picture) {
        Impl& i = *impl_;
        i.busy_timer->stop();
        i.busy->setVisible(false);
        i.stack->setCurrentWidget(i.canvas);
        i.canvas->setPicture(picture, i.place, i.anchor);
        Q_EMIT layoutFinished();
    });
    connect(d.canvas, &GraphCanvas::toggleWanted, this, &GraphPanel::toggleExpanded);
    connect(d.canvas, &GraphCanvas::focusWanted, this, &GraphPanel::focusModule);
    connect(d.canvas, &GraphCanvas::zoomed, this,
            [this](double scale) { impl_->zoom->setText(QStringLiteral("%1%").arg(std::lround(scale * 100))); });
    connect(d.crumbs, &Breadcrumb::chosen, this, &GraphPanel::focusModule);
    connect(session, &Session::analysisChanged, this, [this] { impl_->load(); });
    connect(session, &Session::selectionChanged, this, [this] {
        impl_->showCrumbs();
        impl_->canvas->showSelection();
    });
    d.load();
}

GraphPanel::~GraphPanel() {
    impl_->layouter->stop();
    impl_->layouter->disconnect(this);
}

bool GraphPanel::settled() const { return !impl_->layouter->running(); }
void GraphPanel::fit() { impl_->canvas->fitAll(); }
void GraphPanel::zoomIn() { impl_->canvas->zoomMiddle(1.25); }
void GraphPanel::zoomOut() { impl_->canvas->zoomMiddle(1 / 1.25); }
void GraphPanel::zoomToSelection() { impl_->canvas->zoomToSelection(); }

void GraphPanel::focusModule(ModuleId module) {
    if (!impl_->graph || (module.valid() && module.index() >= impl_->graph->modules.modules.size())) return;
    if (module == ModuleId(0)) module = {};
    impl_->state.focus = module;
    if (module.valid()) impl_->state.expanded.insert(module);
    impl_->lay(GraphCanvas::Place::Fit);
    impl_->showCrumbs();
}

void GraphPanel::toggleExpanded(ModuleId module) {
    if (!impl_->graph || !module.valid() || module.index() >= impl_->graph->modules.modules.size()) return;
    if (impl_->state.expanded.erase(module) == 0) impl_->state.expanded.insert(module);
    impl_->lay(GraphCanvas::Place::Anchor, module);
}

} // namespace fusescope
