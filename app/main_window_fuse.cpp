// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring findings: menu, tool bar, the runner.
#include "app/main_window_widgets.h"

#include "app/banner.h"
#include "app/calibrate_dialog.h"
#include "app/runner_child.h"
#include "app/runner_dialog.h"
#include "core/cost/device.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/fuse/region_words.h"
#include "ui/panels/findings_panel.h"

#include <QMenuBar>

namespace fusescope {
namespace {
constexpr int kKeepAgainMs = 200;
} // namespace

void MainWindow::buildFuse() {
    if (remember_) {
        runner_->setCommand(settings::runnerCommand());
        runner_->setEffort(settings::fuseEffort());
    }
    fuse_->setRunner(runner_);
    findings_->setQueue(fuse_);
    w_->fuse = new QAction(tr("&Fuse the selection"), this);
    w_->fuse->setShortcut(QKeySequence(tr("Ctrl+Return")));
    w_->fuse_plan = new QAction(tr("Fuse all in the &plan"), this);
    w_->fuse_plan->setShortcut(QKeySequence(tr("Ctrl+Shift+Return")));
    w_->cancel_fuse = new QAction(tr("&Cancel all measurements"), this);
    w_->clear_measured = new QAction(tr("C&lear measured results"), this);
    connect(w_->fuse, &QAction::triggered, this, &MainWindow::fuseSelection);
    connect(w_->fuse_plan, &QAction::triggered, fuse_, &FuseQueue::fusePlan);
    connect(w_->cancel_fuse, &QAction::triggered, fuse_, &FuseQueue::cancelAll);
    connect(w_->clear_measured, &QAction::triggered, fuse_, &FuseQueue::clearMeasured);
    connect(findings_, &FindingsPanel::runnerWanted, this, &MainWindow::chooseRunner);
    connect(findings_, &FindingsPanel::chosenChanged, this, &MainWindow::updateFuse);
    connect(fuse_, &FuseQueue::changed, this, &MainWindow::updateFuse);
    connect(session_, &Session::fuseWanted, this, [this](quint32 finding) {
        session_->pick({PickKind::Finding, finding});
        fuse_->fuse(finding);
    });
    connect(session_, &Session::regionWanted, fuse_, &FuseQueue::fuseWish);
    connect(fuse_, &FuseQueue::refused, this, [this](const QString& why) { banner_->show(Banner::Tone::Note, why); });
    connect(session_, &Session::selectionChanged, this, &MainWindow::updateFuse);
    connect(session_, &Session::markedRangeChanged, this, &MainWindow::updateFuse);
    connect(session_, &Session::measuredChanged, this, &MainWindow::updateHeadline);
    connect(session_, &Session::regionsChanged, this, &MainWindow::updateHeadline);
    connect(session_, &Session::measuredChanged, this, &MainWindow::keepMeasured);
    keep_soon_.setSingleShot(true); // many regions come at once
    connect(session_, &Session::regionsChanged, &keep_soon_, qOverload<>(&QTimer::start));
    connect(&keep_soon_, &QTimer::timeout, this, &MainWindow::keepMeasured);
    keep_again_.setSingleShot(true); // while another window writes the same file
    keep_again_.setInterval(kKeepAgainMs);
    connect(&keep_again_, &QTimer::timeout, this, &MainWindow::keepMeasured);
    updateFuse();
}

// A range, several nodes and a module are regions of their own; anything smaller that a finding goes through is that
// finding, as the details show it.
bool MainWindow::selectionIsRegion() const {
    const SelectedWork work = selectedWork(*session_);
    if (work.wish.empty()) return false;
    const auto [begin, end] = session_->markedRange();
    const PickKind kind = session_->selection().pick.kind;
    return begin < end || kind == PickKind::Nodes || kind == PickKind::Module || findings_->chosen() < 0;
}

void MainWindow::fuseSelection() {
    if (selectionIsRegion())
        fuse_->fuseWish(selectedWork(*session_).wish);
    else
        findings_->fuseChosen();
}

void MainWindow::buildFuseMenu() {
    QMenu* menu = menuBar()->addMenu(tr("F&use"));
    menu->addActions({w_->fuse, w_->fuse_plan, w_->cancel_fuse});
    menu->addSeparator();
    menu->addAction(w_->clear_measured);
    menu->addSeparator();
    menu->addAction(tr("Calibrate this &GPU…"), this, &MainWindow::calibrate);
    menu->addAction(tr("&Runner…"), this, &MainWindow::chooseRunner);
}

void MainWindow::updateFuse() {
    const int row = findings_->chosen();
    if (selectionIsRegion()) {
        w_->fuse->setEnabled(!fuse_->choosing());
        w_->fuse->setToolTip(plainTip(fuseThisText(*session_->analysis(), selectedWork(*session_))));
    } else {
        const QString against = row < 0 ? tr("Choose a finding, nodes, a module or a range of the timeline first.")
                                        : fuse_->reasonAgainst(static_cast<std::size_t>(row));
        w_->fuse->setEnabled(against.isEmpty() && !fuse_->job(static_cast<std::size_t>(row)).active());
        w_->fuse->setToolTip(plainTip(against));
    }
    const bool plan = fuse_->planCanBeFused();
    w_->fuse_plan->setEnabled(plan);
    w_->fuse_plan->setToolTip(
        plan                   ? tr("Measure every finding of the plan, unfused and fused (Ctrl+Shift+Return)")
        : runner_->available() ? tr("Nothing in the plan can be measured")
                               : tr("No runner was found: build it with ./dev kernels, or name one in Fuse > Runner"));
    w_->cancel_fuse->setEnabled(fuse_->active() > 0);
    w_->clear_measured->setEnabled(!session_->measured().empty());
}

void MainWindow::chooseRunner() {
    RunnerDialog dialog(settings::runnerCommand(), runner_->effort(), this);
    if (dialog.exec() != QDialog::Accepted) return;
    if (remember_) {
        settings::setRunnerCommand(dialog.command());
        settings::setFuseEffort(dialog.effort());
    }
    runner_->setEffort(dialog.effort());
    runner_->setCommand(dialog.command());
}

void MainWindow::calibrate() {
    CalibrateDialog dialog(runner_, this);
    dialog.exec();
    const AnalysisPtr& a = session_->analysis();
    if (dialog.keptFor().isEmpty() || !a) return;
    if (!w_->device->currentData().toString().isEmpty()) {
        banner_->show(Banner::Tone::Note,
                      tr("The calibration is used once the GPU of the trace is chosen instead of a preset."));
        return;
    }
    DeviceSpec gpu, traced;
    gpu.name = dialog.keptFor().toStdString();
    if (a->trace && !a->trace->devices.empty()) traced.name = a->trace->devices.front().name;
    if (!traced.name.empty() && !sameDevice(gpu, traced))
        banner_->show(Banner::Tone::Note, tr("The calibration is of %1, the trace of %2: it is analysed as before.")
                                              .arg(dialog.keptFor(), text(traced.name)));
    else
        reanalyse();
}

} // namespace fusescope
