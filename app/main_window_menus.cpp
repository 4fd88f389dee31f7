// SPDX-License-Identifier: GPL-3.0-or-later
// Menus and their actions.
#include "app/main_window_widgets.h"

#include "app/welcome.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/graph/graph_panel.h"
#include "ui/panels/findings_panel.h"
#include "ui/roofline/roofline_panel.h"
#include "ui/timeline/timeline_panel.h"

#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QMenuBar>
#include <QMessageBox>

namespace fusescope {

void MainWindow::buildMenus() {
    QMenu* file = menuBar()->addMenu(tr("&File"));
    file->addAction(w_->open);
    w_->recent = file->addMenu(tr("Open &recent"));
    file->addAction(tr("Open the bundled &sample"), this, &MainWindow::openSample)
        ->setEnabled(!sampleFiles().isEmpty());
    file->addSeparator();
    file->addAction(tr("Open sess&ion…"), this, &MainWindow::chooseOpenSession);
    w_->exports.push_back(
        file->addAction(tr("Sa&ve session…"), QKeySequence::Save, this, &MainWindow::chooseSaveSession));
    w_->close = file->addAction(tr("&Close the files"), QKeySequence::Close, this, &MainWindow::closeFiles);
    w_->close->setEnabled(false);
    file->addSeparator();
    w_->exports.push_back(file->addAction(tr("Export &HTML report…"), QKeySequence(tr("Ctrl+E")), this,
                                          [this] { exportReport(Export::Html); }));
    w_->exports.push_back(file->addAction(tr("Export &Markdown…"), this, [this] { exportReport(Export::Markdown); }));
    w_->exports.push_back(file->addAction(tr("Export &JSON…"), this, [this] { exportReport(Export::Json); }));
    file->addAction(tr("Save &picture of the window…"), this, &MainWindow::saveScreenshot);
    for (QAction* action : w_->exports) action->setEnabled(false);
    file->addSeparator();
    file->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);

    QMenu* edit = menuBar()->addMenu(tr("&Edit"));
    QAction* undo = fuse_->undoStack()->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = fuse_->undoStack()->createRedoAction(this, tr("&Redo"));
    redo->setShortcuts({QKeySequence(tr("Ctrl+Shift+Z")), QKeySequence(tr("Ctrl+Y"))});
    edit->addActions({undo, redo});
    edit->addSeparator();
    edit->addAction(tr("&Copy finding as Markdown"), QKeySequence(tr("Ctrl+Shift+C")), this, [this] {
        const QString copied = findings_->copyText();
        if (!copied.isEmpty()) QApplication::clipboard()->setText(copied);
    });
    edit->addAction(tr("&Filter"), QKeySequence::Find, this, [this] {
        w_->search->setFocus(Qt::ShortcutFocusReason);
        w_->search->selectAll();
    });
    QAction* clear = edit->addAction(tr("Clear &selection"), this, [this] { session_->clear(); });
    clear->setShortcut(Qt::Key_Escape);

    QMenu* go = menuBar()->addMenu(tr("&Go"));
    go->addActions({w_->back, w_->forward});
    go->addSeparator();
    go->addAction(tr("&Zoom to the selection"), QKeySequence(tr("Z")), this, [this] {
        timeline_->zoomToSelection();
        graph_->zoomToSelection();
    });
    go->addAction(tr("Whole &step"), QKeySequence(tr("Home")), timeline_, &TimelinePanel::showStep);
    go->addAction(tr("Whole &trace"), QKeySequence(tr("Ctrl+Home")), timeline_, &TimelinePanel::showAll);
    go->addAction(tr("Fit the &graph"), QKeySequence(tr("Ctrl+0")), graph_, &GraphPanel::fit);
    go->addAction(tr("Whole &roofline"), roofline_, &RooflinePanel::resetZoom);

    buildFuseMenu();

    QMenu* view = menuBar()->addMenu(tr("&View"));
    for (QDockWidget* d : {w_->model, w_->roofline, w_->findings, w_->timeline, w_->tables})
        view->addAction(d->toggleViewAction());
    view->addAction(tr("&Reset the layout"), this, &MainWindow::resetLayout);
    view->addAction(timeline_->afterAction());
    view->addSeparator();
    auto* themes = new QActionGroup(this);
    const std::pair<QString, settings::ThemeChoice> choices[] = {
        {tr("Theme: as the &system"), settings::ThemeChoice::System},
        {tr("Theme: &light"), settings::ThemeChoice::Light},
        {tr("Theme: &dark"), settings::ThemeChoice::Dark}};
    const settings::ThemeChoice now = remember_ ? settings::theme() : settings::ThemeChoice::System;
    for (const auto& [name, choice] : choices) {
        QAction* action = themes->addAction(name);
        action->setCheckable(true);
        action->setChecked(choice == now);
        w_->themes[static_cast<std::size_t>(choice)] = action;
        connect(action, &QAction::triggered, this, [this, c = choice] { setTheme(c); });
    }
    view->addActions(themes->actions());

    QMenu* help = menuBar()->addMenu(tr("&Help"));
    help->addAction(tr("&Keyboard and mouse"), QKeySequence::HelpContents, this, &MainWindow::showShortcuts);
    help->addAction(tr("&About FuseScope"), this, &MainWindow::showAbout);
}

void MainWindow::updateRecent() {
    const QStringList files = settings::recentFiles();
    w_->welcome->setRecent(files);
    w_->recent->clear();
    constexpr int kWide = 480;
    for (const QString& path : files) {
        QString name = QFontMetrics(menuBar()->font()).elidedText(QFileInfo(path).fileName(), Qt::ElideMiddle, kWide);
        name.replace(QLatin1Char('&'), QLatin1String("&&"));
        QAction* action = w_->recent->addAction(name, this, [this, path] { open({path}); });
        action->setToolTip(plainTip(path));
    }
    w_->recent->setToolTipsVisible(true);
    if (!files.isEmpty()) {
        w_->recent->addSeparator();
        w_->recent->addAction(tr("&Forget these"), this, [this] {
            settings::clearRecentFiles();
            updateRecent();
        });
    }
    w_->recent->setEnabled(!files.isEmpty());
}

void MainWindow::showShortcuts() {
    const std::pair<QString, QString> rows[] = {
        {tr("W / S"), tr("timeline: zoom in, out at the mouse")},
        {tr("A / D"), tr("timeline: move left, right")},
        {tr("Ctrl+wheel, drag"), tr("zoom, move (timeline, graph, roofline)")},
        {tr("Shift+drag"), tr("timeline: measure a range")},
        {tr("M, Shift+M in the roofline"), tr("next and previous measured arrow")},
        {tr("T"), tr("timeline: after fusing, or as recorded")},
        {tr("Double click"), tr("timeline: zoom to a slice; graph: open or close a block")},
        {tr("Z"), tr("zoom to the selection")},
        {tr("F in the findings, Ctrl+Return"), tr("measure the finding unfused and fused")},
        {tr("Ctrl+click"), tr("graph: choose several nodes")},
        {tr("Ctrl+Return"), tr("measure what is selected: nodes, a module, a range of the timeline")},
        {tr("Delete in the findings"), tr("remove a region of your own")},
        {tr("Ctrl+Shift+Return"), tr("measure every finding of the plan")},
        {tr("Ctrl+Z, Ctrl+Shift+Z"), tr("take back a measured result, bring it back")},
        {tr("Home, Ctrl+Home"), tr("whole step, whole trace")},
        {tr("F in the graph, Ctrl+0"), tr("fit the graph")},
        {tr("Esc"), tr("clear the selection")},
        {tr("Alt+Left, Alt+Right"), tr("earlier and later selections")},
        {tr("Ctrl+F"), tr("filter")},
        {tr("Ctrl+Shift+C"), tr("copy the finding as Markdown")},
        {tr("Ctrl+E"), tr("export the HTML report")},
    };
    QString body = QStringLiteral("<table cellspacing='8'>");
    for (const auto& [keys, meaning] : rows)
        body +=
            QStringLiteral("<tr><td><b>%1</b></td><td>%2</td></tr>").arg(keys.toHtmlEscaped(), meaning.toHtmlEscaped());
    QMessageBox box(QMessageBox::NoIcon, tr("Keyboard and mouse"), body + QStringLiteral("</table>"),
                    QMessageBox::Close, this);
    box.setTextFormat(Qt::RichText);
    box.exec();
}

void MainWindow::showAbout() {
    QMessageBox::about(
        this, tr("About FuseScope"),
        tr("<b>FuseScope %1</b><p>Finds the regions of a PyTorch model step that one kernel could do, and says what "
           "each would save.</p><p>Window: GPL-3.0-or-later. Core: Apache-2.0.<br>Built on Qt, simdjson, libzip, "
           "zlib, fmt and Graphviz.</p>")
            .arg(QCoreApplication::applicationVersion()));
}

} // namespace fusescope
