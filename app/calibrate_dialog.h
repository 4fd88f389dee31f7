// SPDX-License-Identifier: GPL-3.0-or-later
// Has the runner measure its GPU (copy bandwidth, matrix product, launches) and keeps what came out for traces of that
// GPU.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <QDialog>

class QLabel;
class QProgressBar;
class QPushButton;

namespace fusescope {

class RunnerChild;

class CalibrateDialog : public QDialog {
    Q_OBJECT
public:
    explicit CalibrateDialog(RunnerChild* runner, QWidget* parent = nullptr); // begins at once
    ~CalibrateDialog() override;                                              // what still runs is cancelled

    [[nodiscard]] bool running() const { return request_ != 0; }
    [[nodiscard]] const QString& keptFor() const { return kept_for_; } // the GPU; "": nothing was kept
    [[nodiscard]] QString stage() const;                               // what it is at
    [[nodiscard]] QString outcome() const;

Q_SIGNALS:
    void ended();

private:
    void onHello(qint64 id);
    void onCalibrated(qint64 id, const CalibrateResult& result);
    void end(const QString& outcome);
    [[nodiscard]] static QString waitsForMeasurement();
    [[nodiscard]] QString keep(const CalibrateResult& result); // a sentence

    RunnerChild* runner_;
    QProgressBar* progress_;
    QLabel *stage_, *outcome_;
    QPushButton* button_; // Cancel, then Close
    qint64 request_ = 0;
    QString kept_for_;
};

} // namespace fusescope
