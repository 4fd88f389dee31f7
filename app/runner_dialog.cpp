// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/runner_dialog.h"

#include "app/runner_child.h"
#include "core/base/format.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_words.h"

#include <QDialogButtonBox>
#include <QFormLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QVBoxLayout>

#include <cmath>

namespace fusescope {
namespace {

QString helloText(const RunnerHello& hello) {
    QStringList lines;
    for (const RunnerGpu& gpu : hello.gpus)
        lines << RunnerDialog::tr("%1, %2 of %3 free")
                     .arg(text(gpu.name), text(formatBytes(gpu.free_bytes)), text(formatBytes(gpu.memory_bytes)));
    if (hello.gpus.empty()) lines << RunnerDialog::tr("No GPU there: it measures on the CPU, and predictions stay.");
    QString versions = RunnerDialog::tr("FuseScope %1, PyTorch %2").arg(text(hello.build), text(hello.torch));
    if (!hello.driver.empty()) versions += RunnerDialog::tr(", driver %1").arg(text(hello.driver));
    lines << versions;
    if (!hello.kernels) lines << RunnerDialog::tr("Without fused kernels: %1").arg(text(hello.kernels_problem));
    return lines.join(QLatin1Char('\n'));
}

} // namespace

RunnerDialog::RunnerDialog(const QString& command, const FuseEffort& effort, QWidget* parent)
    : QDialog(parent), edit_(new QLineEdit(command, this)), found_(new QLabel(this)), outcome_(new QLabel(this)),
      try_(new QPushButton(tr("&Try it"), this)), rounds_(new QSpinBox(this)), time_limit_(new QSpinBox(this)),
      runner_(new RunnerChild(this)) {
    setWindowTitle(tr("Runner"));
    setMinimumWidth(560);
    auto* column = new QVBoxLayout(this);
    auto* what = new QLabel(tr("fusescope-runner runs findings with PyTorch, unfused and fused. It may be on another "
                               "machine: whatever command starts it there will do."),
                            this);
    for (QLabel* label : {what, found_, outcome_}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
    }
    outcome_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    column->addWidget(what);
    auto* form = new QFormLayout;
    edit_->setPlaceholderText(tr("ssh gpu-box fusescope-runner"));
    edit_->setAccessibleName(tr("Runner command"));
    edit_->setClearButtonEnabled(true);
    form->addRow(tr("Runner &command"), edit_);
    form->addRow(QString(), found_);
    form->addRow(try_, outcome_);
    rounds_->setRange(1, kMostFuseRounds);
    rounds_->setValue(effort.rounds);
    rounds_->setToolTip(tr("How often each form of a region is timed, at most. More tell small differences; of fewer "
                           "than %1 no speedup is told, as nothing is known of how much times spread.")
                            .arg(kFewestFuseRounds));
    time_limit_->setRange(1, static_cast<int>(kMostFuseSeconds));
    time_limit_->setValue(static_cast<int>(std::lround(effort.time_limit_s)));
    time_limit_->setSuffix(tr(" s"));
    time_limit_->setToolTip(tr("What one region may take before it is given up. On a CPU regions of full size take "
                               "minutes: 600 s and two rounds show whether the numbers agree."));
    form->addRow(tr("Timed &rounds"), rounds_);
    form->addRow(tr("Time &limit of a region"), time_limit_);
    column->addLayout(form);
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Ok | QDialogButtonBox::Cancel, this);
    column->addStretch();
    column->addWidget(buttons);
    connect(buttons, &QDialogButtonBox::accepted, this, &QDialog::accept);
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::reject);
    connect(try_, &QPushButton::clicked, this, &RunnerDialog::tryIt);
    const auto update = [this, ok = buttons->button(QDialogButtonBox::Ok)] {
        const QStringList found = RunnerChild::commandOf(edit_->text());
        const bool written = !this->command().isEmpty();
        found_->setText(written ? RunnerChild::problemOf(edit_->text())
                        : found.isEmpty()
                            ? tr("Left empty, one is looked for: beside this program, in build/kernels/bin of its "
                                 "source tree and on PATH. None is there; ./dev kernels builds one where CUDA is.")
                            : tr("Left empty: %1").arg(found.join(QLatin1Char(' '))));
        found_->setVisible(!found_->text().isEmpty());
        try_->setEnabled(!found.isEmpty());
        ok->setEnabled(!written || !found.isEmpty());
        tried_ = 0;
        outcome_->clear();
    };
    connect(edit_, &QLineEdit::textChanged, this, update);
    update();
    connect(runner_, &RunnerChild::answered, this, [this](qint64 id) {
        if (id != tried_) return;
        outcome_->setText(helloText(*runner_->hello()));
        try_->setEnabled(true);
    });
    connect(runner_, &FuseRunner::failed, this, [this](qint64 id, const RunnerError& error) {
        if (id != tried_) return;
        outcome_->setText(errorWords(error).long_text);
        try_->setEnabled(true);
    });
}

FuseEffort RunnerDialog::effort() const { return {rounds_->value(), static_cast<double>(time_limit_->value())}; }

QString RunnerDialog::command() const { return edit_->text().trimmed(); }

void RunnerDialog::tryIt() {
    try_->setEnabled(false);
    outcome_->setText(tr("Starting it; PyTorch takes some seconds."));
    runner_->setCommand(command());
    tried_ = runner_->askDevice();
}

} // namespace fusescope
