// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/main_window.h"

#include "app/banner.h"
#include "app/loader.h"
#include "app/main_window_widgets.h"
#include "app/runner_child.h"
#include "app/session_file.h"
#include "app/welcome.h"
#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/graph/graph_panel.h"
#include "ui/panels/findings_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/tables_panel.h"
#include "ui/roofline/roofline_panel.h"
#include "ui/timeline/timeline_panel.h"

#include <QApplication>
#include <QCloseEvent>
#include <QResizeEvent>
#include <QStatusBar>
#include <QStyleFactory>
#include <QTabBar>
#include <QTimer>
#include <QVBoxLayout>

#include <algorithm>
#include <chrono>

namespace fusescope {
namespace {

constexpr std::chrono::milliseconds kWriteMs{1000};

QDockWidget* dock(QMainWindow* window, const QString& title, const char* name, QWidget* content,
                  Qt::DockWidgetArea area) {
    auto* d = new QDockWidget(title, window);
    d->setObjectName(QLatin1String(name)); // for saveState
    d->setWidget(content);
    window->addDockWidget(area, d);
    return d;
}

} // namespace

MainWindow::MainWindow(bool remember, QWidget* parent)
    : QMainWindow(parent), remember_(remember), session_(new Session(this)), loader_(new Loader(this)),
      runner_(new RunnerChild(this)), fuse_(new FuseQueue(session_, this)), w_(std::make_unique<Widgets>(this)) {
    setWindowTitle(tr("FuseScope"));
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    // Grouped dragging lets a tab be dragged out: docks behind tabs show no title of their own.
    setDockOptions((dockOptions() & ~QMainWindow::AnimatedDocks) | QMainWindow::GroupedDragging);
    buildViews();
    buildFuse();
    buildToolBar();
    buildMenus();
    buildStatusBar();
    // Names in files are hostile: no label reads markup.
    for (QLabel* label : findChildren<QLabel*>()) label->setTextFormat(Qt::PlainText);
    setMinimumSize(1100, 700); // below, names and the headline would be cut
    resize(1600, 1000);
    resetLayout();
    if (remember_) {
        theme_choice_ = settings::theme();
        restoreGeometry(settings::geometry());
        restoreState(settings::windowState());
        model_->setColumns(settings::modelColumns());
        findings_->setDetailShare(settings::detailShare());
        keepResultsIn(settings::keptFolder());
    }
    detectSystemTheme();
    applyTheme();
    updateRecent();
    updateStatus();

    connect(loader_, &Loader::started, this, [this] {
        w_->stage->setText(tr("opening"));
        w_->progress->setRange(0, 0);
        for (QWidget* widget :
             {static_cast<QWidget*>(w_->stage), static_cast<QWidget*>(w_->progress), static_cast<QWidget*>(w_->cancel)})
            widget->show();
    });
    connect(loader_, &Loader::progressed, this, [this](const QString& stage, double fraction) {
        constexpr int kSteps = 1000;
        w_->stage->setText(stage);
        w_->progress->setRange(0, fraction < 0 ? 0 : kSteps);
        if (fraction >= 0) w_->progress->setValue(static_cast<int>(fraction * kSteps));
    });
    connect(loader_, &Loader::stopped, this, [this] {
        pending_session_.reset(); // nothing came of its inputs, if it is there still
        updateStatus();           // the boxes say what is shown, also when what was chosen did not come about
        for (QWidget* widget :
             {static_cast<QWidget*>(w_->stage), static_cast<QWidget*>(w_->progress), static_cast<QWidget*>(w_->cancel)})
            widget->hide();
    });
    connect(loader_, &Loader::finished, this, &MainWindow::showAnalysis);
    connect(loader_, &Loader::failed, this,
            [this](const QString& sentence) { banner_->show(Banner::Tone::Error, sentence); });
    connect(session_, &Session::selectionChanged, this, [this] {
        w_->back->setEnabled(session_->canGoBack());
        w_->forward->setEnabled(session_->canGoForward());
    });
}

// What was to be written just before is written still, unless that takes long.
MainWindow::~MainWindow() { w_->files.waitFor(kWriteMs); }

void MainWindow::buildViews() {
    auto* centre = new QWidget(this);
    auto* column = new QVBoxLayout(centre);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    banner_ = new Banner(session_, centre);
    w_->centre = new QStackedWidget(centre);
    w_->welcome = new Welcome(w_->centre);
    graph_ = new GraphPanel(session_, w_->centre);
    w_->centre->addWidget(w_->welcome);
    w_->centre->addWidget(graph_);
    column->addWidget(banner_);
    column->addWidget(w_->centre, 1);
    setCentralWidget(centre);

    model_ = new ModelPanel(session_, this);
    roofline_ = new RooflinePanel(session_, this);
    findings_ = new FindingsPanel(session_, this);
    timeline_ = new TimelinePanel(session_, this);
    tables_ = new TablesPanel(session_, this);
    w_->model = dock(this, tr("Model"), "model", model_, Qt::LeftDockWidgetArea);
    w_->roofline = dock(this, tr("Roofline"), "roofline", roofline_, Qt::RightDockWidgetArea);
    w_->findings = dock(this, tr("Findings"), "findings", findings_, Qt::RightDockWidgetArea);
    w_->timeline = dock(this, tr("Timeline"), "timeline", timeline_, Qt::BottomDockWidgetArea);
    w_->tables = dock(this, tr("Tables"), "tables", tables_, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomLeftCorner, Qt::BottomDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::BottomDockWidgetArea);
    setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
    for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables}) {
        // Tabs are formed after these signals, so look once the event loop is back.
        const auto later = [this] { QTimer::singleShot(0, this, &MainWindow::trimTitles); };
        connect(d, &QDockWidget::dockLocationChanged, this, later);
        connect(d, &QDockWidget::topLevelChanged, this, later);
        connect(d, &QDockWidget::visibilityChanged, this, later);
    }

    connect(w_->welcome, &Welcome::openRequested, this, &MainWindow::chooseFiles);
    connect(w_->welcome, &Welcome::sampleRequested, this, &MainWindow::openSample);
    connect(w_->welcome, &Welcome::fileRequested, this, [this](const QString& path) { open({path}); });
    w_->welcome->setSampleAvailable(!sampleFiles().isEmpty());
    connect(model_, &ModelPanel::moduleActivated, this, [this](ModuleId module) { graph_->focusModule(module); });
}

void MainWindow::resetLayout() {
    for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables}) {
        d->setFloating(false);
        d->show();
    }
    addDockWidget(Qt::LeftDockWidgetArea, w_->model);
    addDockWidget(Qt::RightDockWidgetArea, w_->roofline);
    splitDockWidget(w_->roofline, w_->findings, Qt::Horizontal);
    addDockWidget(Qt::BottomDockWidgetArea, w_->timeline);
    tabifyDockWidget(w_->timeline, w_->tables);
    const QList<QTabBar*> bars = findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly);
    for (QTabBar* bar : bars) bar->setAccessibleName(tr("Timeline or tables"));
    w_->timeline->raise();
    const int wide = width();
    // One side after the other: given both, Qt 6.4 shares out wrongly.
    resizeDocks({w_->model}, {std::clamp(wide * 20 / 100, 232, 400)}, Qt::Horizontal);
    resizeDocks({w_->roofline, w_->findings},
                {std::clamp(wide * 24 / 100, 288, 560), std::clamp(wide * 25 / 100, 304, 520)}, Qt::Horizontal);
    resizeDocks({w_->timeline}, {height() * 36 / 100}, Qt::Vertical);
    model_->setColumns({});
    findings_->setDetailShare(0);
    QTimer::singleShot(0, this, &MainWindow::trimTitles);
}

// A dock behind a tab is named by the tab: its own title would say it twice.
void MainWindow::trimTitles() {
    for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables}) {
        const bool tabbed = !d->isFloating() && !tabifiedDockWidgets(d).isEmpty();
        QWidget* own = d->titleBarWidget();
        if (tabbed == (own != nullptr)) continue;
        d->setTitleBarWidget(tabbed ? new QWidget(d) : nullptr);
        delete own;
    }
    // Qt 6.4 leaves the bar of a group that was formed twice in sight, as a line across the views.
    const QList<QTabBar*> bars = findChildren<QTabBar*>(QString(), Qt::FindDirectChildrenOnly);
    for (QTabBar* bar : bars)
        if (bar->count() < 2) bar->hide();
}

void MainWindow::buildStatusBar() {
    w_->problems = new QToolButton(this);
    w_->problems->setAutoRaise(true);
    w_->problems->setFocusPolicy(Qt::TabFocus);
    w_->problems->setAccessibleName(tr("Problems of the files"));
    connect(w_->problems, &QToolButton::clicked, this, &MainWindow::showProblems);
    statusBar()->addWidget(w_->problems);
    w_->status = new QLabel(this);
    w_->status->setTextInteractionFlags(Qt::TextSelectableByMouse);
    w_->stage = new QLabel(this);
    w_->progress = new QProgressBar(this);
    w_->progress->setFixedWidth(200);
    w_->progress->setTextVisible(false);
    w_->progress->setAccessibleName(tr("Loading"));
    w_->cancel = new QPushButton(tr("Cancel"), this);
    connect(w_->cancel, &QPushButton::clicked, loader_, &Loader::cancel);
    statusBar()->addWidget(w_->status, 1);
    for (QWidget* widget :
         {static_cast<QWidget*>(w_->stage), static_cast<QWidget*>(w_->progress), static_cast<QWidget*>(w_->cancel)}) {
        statusBar()->addPermanentWidget(widget);
        widget->hide();
    }
}

void MainWindow::setTheme(settings::ThemeChoice choice) {
    theme_choice_ = choice;
    w_->themes[static_cast<std::size_t>(choice)]->setChecked(true);
    applyTheme();
}

void MainWindow::chooseTheme(settings::ThemeChoice choice) {
    if (remember_) settings::setTheme(choice);
    setTheme(choice);
}

void MainWindow::applyTheme() {
    const bool dark = theme_choice_ == settings::ThemeChoice::Dark ||
                      (theme_choice_ == settings::ThemeChoice::System && system_dark_);
    const Theme theme = dark ? Theme::Dark : Theme::Light;
    // The style sheet first: setting it gives widgets back the palettes they had before, so views colour themselves
    // after it.
    QApplication::setPalette(paletteOf(theme));
    qApp->setStyleSheet(styleSheetOf(theme));
    session_->setTheme(theme);
    updateBusy();
}

// Qt 6.4 does not say which scheme the system has: the lightness of its own palette does.
void MainWindow::detectSystemTheme() {
    QApplication::setPalette(QPalette());
    system_dark_ = QApplication::palette().color(QPalette::Window).lightness() < 128;
}

void MainWindow::toggleTheme() {
    chooseTheme(session_->theme() == Theme::Dark ? settings::ThemeChoice::Light : settings::ThemeChoice::Dark);
}

bool MainWindow::event(QEvent* event) {
    if (event->type() == QEvent::ThemeChange && theme_choice_ == settings::ThemeChoice::System) {
        detectSystemTheme();
        applyTheme();
    }
    return QMainWindow::event(event);
}

bool MainWindow::settled() const {
    return !reading_session_ && !loader_->running() && !fuse_->choosing() && graph_->settled();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
    QMainWindow::resizeEvent(event);
    fitBar();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (remember_) {
        settings::setWindow(saveGeometry(), saveState());
        settings::setPanels(model_->columns(), findings_->detailShare());
    }
    keepNow();
    event->accept();
}

} // namespace fusescope
