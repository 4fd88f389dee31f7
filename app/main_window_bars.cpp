// SPDX-License-Identifier: GPL-3.0-or-later
// Tool bar, headline and status line.
#include "app/main_window_widgets.h"

#include "app/banner.h"
#include "app/icons.h"
#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/cost/device.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/legend.h"
#include "ui/base/paint.h"
#include "ui/base/session.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_words.h"
#include "ui/panels/findings_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/tables_panel.h"

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QWidgetAction>

namespace fusescope {
namespace {

// A tooltip of the texts that say something, one a line.
QString lines(QStringList texts) {
    texts.removeAll(QString());
    return plainTip(texts.join(QLatin1Char('\n')));
}

void fillSteps(QComboBox& box, const Analysis& analysis) {
    const QSignalBlocker quiet(box);
    box.clear();
    if (!analysis.trace || analysis.trace->steps.empty()) {
        box.addItem(analysis.trace ? MainWindow::tr("Whole trace") : MainWindow::tr("No trace"),
                    QStringLiteral("last"));
        box.setEnabled(false);
        return;
    }
    box.setEnabled(true);
    for (std::size_t i = 0; i < analysis.steps.size(); ++i) {
        const Step& step = analysis.trace->steps[i];
        const QString length = text(formatDuration(analysis.steps[i].wall_ns));
        const QString number = QString::number(step.number);
        const auto process = analysis.trace->process_names.find(step.pid);
        if (analysis.trace->several_processes && process != analysis.trace->process_names.end())
            box.addItem(MainWindow::tr("Step %1 of %2 · %3").arg(number, text(process->second), length),
                        text(step.name));
        else
            box.addItem(MainWindow::tr("Step %1 · %2").arg(number, length), number);
    }
    box.addItem(MainWindow::tr("All steps"), QStringLiteral("all"));
    box.setCurrentIndex(analysis.all_steps ? box.count() - 1 : analysis.step);
}

// chosen: what the analysis was made with, "" for the GPU of the trace.
void fillDevices(QComboBox& box, const Analysis& analysis, const QString& chosen) {
    const QSignalBlocker quiet(box);
    box.clear();
    const bool from_trace = analysis.trace && !analysis.trace->devices.empty();
    const bool calibrated = chosen.isEmpty() && analysis.device.source == DeviceSource::Calibrated;
    box.addItem(calibrated   ? MainWindow::tr("%1 (calibrated)").arg(text(analysis.device.name))
                : from_trace ? MainWindow::tr("%1 (from the trace)").arg(text(analysis.trace->devices.front().name))
                             : MainWindow::tr("%1 (assumed)").arg(text(analysis.device.name)),
                QString());
    if (calibrated)
        box.setItemData(0, plainTip(MainWindow::tr("Measured: %1").arg(text(analysis.device.origin))), Qt::ToolTipRole);
    for (const DeviceSpec& preset : devicePresets()) box.addItem(text(preset.name), text(preset.name));
    const int at = box.findData(chosen);
    box.setCurrentIndex(at >= 0 ? at : 0);
}

} // namespace

void MainWindow::buildToolBar() {
    w_->bar = addToolBar(tr("Main"));
    w_->bar->setObjectName(QStringLiteral("main"));
    w_->bar->setMovable(false);
    w_->bar->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    w_->bar->setIconSize(QSize(16, 16));
    w_->open = w_->bar->addAction(lineIcon(QStringLiteral("open")), tr("Open…"), this, &MainWindow::chooseFiles);
    w_->open->setShortcut(QKeySequence::Open);
    w_->open->setToolTip(tr("Open traces and model graphs (Ctrl+O)"));
    w_->back = w_->bar->addAction(lineIcon(QStringLiteral("back")), tr("&Back"), session_, &Session::back);
    w_->back->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Left));
    w_->back->setToolTip(tr("Earlier selection (Alt+Left)"));
    w_->forward = w_->bar->addAction(lineIcon(QStringLiteral("forward")), tr("&Forward"), session_, &Session::forward);
    w_->forward->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Right));
    w_->forward->setToolTip(tr("Later selection (Alt+Right)"));
    for (QAction* action : {w_->back, w_->forward}) {
        action->setEnabled(false);
        if (auto* button = qobject_cast<QToolButton*>(w_->bar->widgetForAction(action)))
            button->setToolButtonStyle(Qt::ToolButtonIconOnly);
    }
    w_->bar->addSeparator();

    w_->step = new QComboBox(w_->bar);
    w_->step->setObjectName(QStringLiteral("step"));
    w_->step->setAccessibleName(tr("Step"));
    w_->step->setToolTip(tr("The step that tables, findings and the headline speak of"));
    w_->step->setMinimumWidth(152);
    w_->step->setMaximumWidth(260);
    w_->step->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    w_->step->addItem(tr("No trace"));
    w_->step->setEnabled(false);
    w_->device = new QComboBox(w_->bar);
    w_->device->setObjectName(QStringLiteral("device"));
    w_->device->setAccessibleName(tr("GPU"));
    w_->device->setToolTip(tr("Whose peaks the roofline and the predictions use"));
    w_->device->setMinimumWidth(208);
    w_->device->addItem(tr("GPU: from the trace"));
    for (QComboBox* box : {w_->step, w_->device}) {
        w_->bar->addWidget(box);
        connect(box, &QComboBox::activated, this, &MainWindow::reanalyse);
    }
    w_->bar->addSeparator();
    w_->search = new QLineEdit(w_->bar);
    w_->search->setPlaceholderText(tr("Filter modules, kernels, findings"));
    w_->search->setAccessibleName(tr("Filter"));
    w_->search->setClearButtonEnabled(true);
    w_->search->addAction(lineIcon(QStringLiteral("search")), QLineEdit::LeadingPosition);
    w_->search->setMinimumWidth(160);
    w_->search->setMaximumWidth(280);
    w_->bar->addWidget(w_->search);
    connect(w_->search, &QLineEdit::textChanged, this, [this](const QString& filter) {
        model_->setFilter(filter);
        findings_->setFilter(filter);
        tables_->setFilter(filter);
    });

    auto* fuse = new QToolButton(w_->bar);
    fuse->setDefaultAction(w_->fuse_plan);
    fuse->setToolButtonStyle(Qt::ToolButtonTextOnly);
    w_->fuse_button = w_->bar->addWidget(fuse);

    auto* spacer = new QWidget(w_->bar);
    spacer->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
    w_->bar->addWidget(spacer);
    w_->busy = new QLabel(w_->bar);
    w_->busy->setContentsMargins(8, 0, 8, 0);
    w_->busy->setForegroundRole(QPalette::WindowText); // a tool bar's children take the buttons'
    w_->busy->setTextInteractionFlags(Qt::TextSelectableByMouse);
    w_->busy_place = w_->bar->addWidget(w_->busy);
    w_->headline = new QLabel(w_->bar);
    w_->headline->setFont(uiFont(15, true));
    w_->headline->setContentsMargins(8, 0, 12, 0);
    w_->headline->setTextInteractionFlags(Qt::TextSelectableByMouse);
    w_->bar->addWidget(w_->headline);
    auto* legend = new QToolButton(w_->bar);
    legend->setText(tr("Legend ▾"));
    legend->setToolTip(tr("What the colours mean"));
    legend->setPopupMode(QToolButton::InstantPopup);
    legend->setFocusPolicy(Qt::TabFocus);
    auto* popup = new QMenu(legend);
    auto* card = new QWidgetAction(popup);
    card->setDefaultWidget(new LegendCard(session_, popup));
    popup->addAction(card);
    legend->setMenu(popup);
    w_->bar->addWidget(legend);
    QAction* theme =
        w_->bar->addAction(lineIcon(QStringLiteral("theme")), tr("Light or dark"), this, &MainWindow::toggleTheme);
    if (auto* button = qobject_cast<QToolButton*>(w_->bar->widgetForAction(theme)))
        button->setToolButtonStyle(Qt::ToolButtonIconOnly);
    // Tab reaches every control of the bar, not only its fields.
    for (QToolButton* button : w_->bar->findChildren<QToolButton*>())
        if (button->defaultAction() != nullptr) button->setFocusPolicy(Qt::TabFocus);
}

// The headline comes first: below this width other things leave the bar or say less (the menu has them, or the tables).
constexpr int kRoomy = 1500;

void MainWindow::fitBar() {
    updateBusy();
    const bool roomy = width() >= kRoomy;
    const AnalysisPtr& a = session_->analysis();
    w_->fuse_button->setVisible(roomy);
    w_->busy_place->setVisible(roomy || !a || session_->measured().empty());
}

// How much of the step the GPU works, and what it waits for where it mostly waits.
void MainWindow::updateBusy() {
    w_->busy->clear();
    w_->busy->setToolTip(QString());
    const AnalysisPtr& a = session_->analysis();
    if (!a || !a->trace || a->steps.empty()) return;
    const StepStats* step = analysedStep(*a);
    if (step == nullptr || step->bound == StepBound::Unknown) return;
    const QString busy =
        width() >= kRoomy || !(step->wall_ns > 0)
            ? tr("GPU busy %1 of %2").arg(text(formatDuration(step->gpu_busy_ns)), text(formatDuration(step->wall_ns)))
            : tr("GPU busy %1", "share").arg(text(formatPercent(step->gpu_busy_ns / step->wall_ns)));
    w_->busy->setText(step->bound == StepBound::Launches ? tr("%1: bound by launches").arg(busy)
                      : step->bound == StepBound::Idle   ? tr("%1: it mostly waits").arg(busy)
                                                         : busy);
    const QString figures = tr("Idle for %1 (%2) of the step; %3 kernels, %4 launches")
                                .arg(text(formatDuration(step->gpu_idle_ns)),
                                     text(formatPercent(step->wall_ns > 0 ? step->gpu_idle_ns / step->wall_ns : 0)),
                                     QString::number(step->kernels), QString::number(step->launches));
    w_->busy->setToolTip(lines({figures, text(stepVerdict(*a)), text(stepScopeNote(*a))}));
    const ColourRole role = step->bound == StepBound::Kernels ? ColourRole::TextMuted : ColourRole::Warning;
    w_->busy->setFont(uiFont(12, step->bound != StepBound::Kernels));
    QPalette own = paletteOf(session_->theme());
    own.setColor(QPalette::WindowText, qColor(role, session_->theme()));
    w_->busy->setPalette(own);
}

void MainWindow::updateHeadline() {
    fitBar();
    w_->headline->clear();
    w_->headline->setToolTip(QString());
    const AnalysisPtr& a = session_->analysis();
    if (!a || !a->trace) return;
    const MeasuredPlan& measured = session_->measuredPlan();
    const QString with_results = measuredPlanText(*a, measured);
    const bool unseen = nothingSeen(measured.plan) && measured.regions == 0; // the step's time stays as it is
    w_->headline->setText(
        with_results.isEmpty() || unseen
            ? text(stepHeadline(*a))
            : (measured.predicted_instances > 0 ? tr("%1 %2 → %3 measured in part") : tr("%1 %2 → %3 measured"))
                  .arg(spanName(*a), text(formatDuration(a->plan.step_ns)),
                       text(formatDuration(measured.predicted_step_ns.expected))));
    if (measured.any() && !unseen && measured.measured < measured.parts)
        w_->headline->setText(tr("%1 %2 → %3, %4 of %5 measured")
                                  .arg(spanName(*a), text(formatDuration(a->plan.step_ns)),
                                       text(formatDuration(measured.predicted_step_ns.expected)),
                                       QString::number(measured.measured + measured.regions),
                                       QString::number(measured.parts + measured.regions)));
    const Plan& plan = a->plan;
    const QString names = text(titlesOf(*a, plan.findings));
    QString prediction;
    if (!names.isEmpty() && !nothingSeen(plan))
        prediction = tr("Predicted with the plan (%1): %2 to %3. A prediction, not a measurement.")
                         .arg(names, text(formatDuration(plan.predicted_step_ns.low)),
                              text(formatDuration(plan.predicted_step_ns.high)));
    w_->headline->setToolTip(
        lines({with_results, stillPredictedText(measured), planChangeText(*a, measured), prediction,
               text(unseenNote(plan)), text(severalGpusNote(*a)), text(otherDeviceNote(*a))}));
}

void MainWindow::updateStatus() {
    const AnalysisPtr& a = session_->analysis();
    if (!a) {
        w_->status->setText(tr("Nothing opened"));
        w_->status->setToolTip(QString());
        w_->problems->hide();
        const QSignalBlocker quiet_step(w_->step), quiet_device(w_->device);
        w_->step->clear();
        w_->step->addItem(tr("No trace"));
        w_->step->setEnabled(false);
        w_->device->clear();
        w_->device->addItem(tr("GPU: from the trace"));
        return;
    }
    fillSteps(*w_->step, *a);
    fillDevices(*w_->device, *a, shown_device_);
    QStringList parts, tips;
    const std::size_t problems =
        (a->trace ? a->trace->problems.size() : 0) + (a->graph ? a->graph->problems.size() : 0);
    w_->problems->setText(tr("problems %1").arg(problems));
    w_->problems->setEnabled(problems > 0);
    w_->problems->setToolTip(problems > 0 ? tr("Show what was damaged or odd in the files")
                                          : tr("Everything in the files was understood"));
    w_->problems->show();
    if (a->trace) {
        const double share = a->link.kernel_ns > 0 ? a->link.op_ns / a->link.kernel_ns : 0;
        parts << tr("linked %1").arg(text(formatPercent(share)));
        tips << tr("%1 of the kernel time is linked to an operator").arg(text(formatPercent(share)));
        for (const Unlinked& u : a->link.unlinked)
            tips << tr("%1: %2 in %3 kernels")
                        .arg(text(u.reason), text(formatDuration(u.time_ns)), QString::number(u.kernels));
        parts << tr("events %1").arg(text(formatCount(static_cast<std::int64_t>(a->trace->counts.total))));
    }
    if (a->graph)
        parts << tr("operators %1").arg(text(formatCount(static_cast<std::int64_t>(a->graph->ops.nodes.size()))));
    const QString source = a->device.source == DeviceSource::Trace        ? tr("preset, named in the trace")
                           : a->device.source == DeviceSource::Preset     ? tr("preset")
                           : a->device.source == DeviceSource::Calibrated ? tr("calibrated")
                                                                          : tr("assumed");
    parts << tr("%1 · HBM %2 (%3)").arg(text(a->device.name), text(formatBandwidth(a->device.bandwidth_Bps)), source);
    w_->status->setText(parts.join(QStringLiteral("  ·  ")));
    w_->status->setToolTip(lines(tips));
}

void MainWindow::showProblems() {
    const AnalysisPtr& a = session_->analysis();
    if (!a) return;
    banner_->clear();
    if (a->trace)
        for (const Problem& p : a->trace->problems)
            banner_->show(Banner::Tone::Note,
                          tr("%1 (%2×, first at byte %3)")
                              .arg(text(p.message), text(formatCount(static_cast<std::int64_t>(p.count))),
                                   text(formatCount(static_cast<std::int64_t>(p.first_offset)))));
    if (a->graph)
        for (const GraphProblem& p : a->graph->problems) banner_->show(Banner::Tone::Note, text(p.message));
}

} // namespace fusescope
