// SPDX-License-Identifier: GPL-3.0-or-later
// Which program measures, here or on another machine, and how much. It can be tried before it is taken.
#pragma once

#include "core/ipc/fuse_effort.h"

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;
class QSpinBox;

namespace fusescope {

class RunnerChild;

class RunnerDialog : public QDialog {
    Q_OBJECT
public:
    RunnerDialog(const QString& command, const FuseEffort& effort, QWidget* parent = nullptr);
    [[nodiscard]] QString command() const;
    [[nodiscard]] FuseEffort effort() const;

private:
    void tryIt();
    QLineEdit* edit_;
    QLabel *found_, *outcome_;
    QPushButton* try_;
    QSpinBox *rounds_, *time_limit_;
    RunnerChild* runner_;
    qint64 tried_ = 0; // the request; 0: none, or one of a command that is not written any more
};

} // namespace fusescope
