// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/calibrate_dialog.h"

#include "app/runner_child.h"
#include "app/whole_file.h"
#include "core/cost/calibration.h"
#include "core/report/fuse_report.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_words.h"

#include <QDir>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace fusescope {

CalibrateDialog::CalibrateDialog(RunnerChild* runner, QWidget* parent)
    : QDialog(parent), runner_(runner), progress_(new QProgressBar(this)), stage_(new QLabel(this)),
      outcome_(new QLabel(this)), button_(new QPushButton(tr("Cancel"), this)) {
    setWindowTitle(tr("Calibrate this GPU"));
    setMinimumWidth(520);
    auto* column = new QVBoxLayout(this);
    auto* what = new QLabel(tr("Measures what the runner's GPU reaches: a copy, a bf16 matrix product, empty launches. "
                               "Predictions and the roofline of its traces then use these figures."),
                            this);
    for (QLabel* label : {what, stage_, outcome_}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
    }
    outcome_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    outcome_->hide();
    progress_->setRange(0, 0);
    progress_->setAccessibleName(tr("Progress of the calibration"));
    stage_->setText(runner_->busy()             ? waitsForMeasurement()
                    : runner_->processId() != 0 ? tr("Asking the runner.")
                                                : tr("Starting the runner; PyTorch takes some seconds."));
    for (QWidget* widget : {static_cast<QWidget*>(what), static_cast<QWidget*>(progress_),
                            static_cast<QWidget*>(stage_), static_cast<QWidget*>(outcome_)})
        column->addWidget(widget);
    column->addStretch();
    column->addWidget(button_, 0, Qt::AlignRight);
    connect(button_, &QPushButton::clicked, this, &QDialog::reject);
    connect(runner_, &RunnerChild::answered, this, &CalibrateDialog::onHello);
    connect(runner_, &RunnerChild::calibrated, this, &CalibrateDialog::onCalibrated);
    connect(runner_, &FuseRunner::progressed, this, [this](qint64 id, const QString& stage, double fraction) {
        if (id != request_ || request_ == 0) return;
        constexpr int kWhole = 1000;
        stage_->setText(stage);
        progress_->setRange(0, fraction < 0 ? 0 : kWhole);
        if (fraction >= 0) progress_->setValue(static_cast<int>(kWhole * std::min(fraction, 1.0)));
    });
    connect(runner_, &FuseRunner::failed, this, [this](qint64 id, const RunnerError& error) {
        if (id == request_ && request_ != 0) end(errorWords(error).long_text);
    });
    request_ = runner_->askDevice();
}

QString CalibrateDialog::waitsForMeasurement() {
    return tr("A measurement is running: the calibration waits until it is through.");
}

QString CalibrateDialog::stage() const { return stage_->text(); }

CalibrateDialog::~CalibrateDialog() {
    if (request_ != 0) runner_->cancel(request_);
}

QString CalibrateDialog::outcome() const { return outcome_->text(); }

void CalibrateDialog::onHello(qint64 id) {
    if (id != request_ || request_ == 0) return;
    if (runner_->hello()->gpus.empty()) {
        end(tr("There is no GPU where the runner is: nothing was measured, and figures stay as they are. A runner on "
               "another machine is named in Fuse > Runner."));
        return;
    }
    stage_->setText(runner_->busy() ? waitsForMeasurement() : tr("Asking the runner."));
    request_ = runner_->calibrate();
}

void CalibrateDialog::onCalibrated(qint64 id, const CalibrateResult& result) {
    if (id != request_ || request_ == 0) return;
    QStringList lines{text(result.device)};
    for (const CalibrationLine& line : calibrationLines(result))
        lines << tr("%1: %2").arg(text(line.what), text(line.value));
    lines << keep(result);
    end(lines.join(QLatin1Char('\n')));
}

QString CalibrateDialog::keep(const CalibrateResult& result) {
    const RunnerHello& hello = *runner_->hello();
    const std::string folder = calibrationFolder();
    if (!result.on_gpu || hello.gpus.empty()) return tr("It did not run on the GPU, so nothing is kept.");
    if (folder.empty() || hello.gpus.front().uuid.empty())
        return tr("Not kept: there is no folder for settings, or the GPU has no name of its own.");
    const QString where = QFile::decodeName(folder.c_str()) + QLatin1Char('/') +
                          text(calibrationFile(hello.gpus.front().uuid, hello.driver));
    const QByteArray json = QByteArray::fromStdString(deviceReportJson(hello, result));
    QDir().mkpath(QFile::decodeName(folder.c_str()));
    if (const QString why = writeWhole(where, json); !why.isEmpty())
        return tr("%1: expected a file that can be written, found %2").arg(where, why);
    kept_for_ = text(hello.gpus.front().name);
    return tr("Kept in %1; traces of this GPU are analysed with it.").arg(where);
}

void CalibrateDialog::end(const QString& outcome) {
    request_ = 0;
    progress_->hide();
    stage_->hide();
    outcome_->setText(outcome);
    outcome_->show();
    button_->setText(tr("Close"));
    Q_EMIT ended();
}

} // namespace fusescope
