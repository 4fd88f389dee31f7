// SPDX-License-Identifier: GPL-3.0-or-later
// Which program measures: here, or on another machine. It can be tried before it is taken.
#pragma once

#include <QDialog>

class QLabel;
class QLineEdit;
class QPushButton;

namespace fusescope {

class RunnerChild;

class RunnerDialog : public QDialog {
    Q_OBJECT
public:
    explicit RunnerDialog(const QString& command, QWidget* parent = nullptr);
    [[nodiscard]] QString command() const;

private:
    void tryIt();
    QLineEdit* edit_;
    QLabel *found_, *outcome_;
    QPushButton* try_;
    RunnerChild* runner_;
    qint64 tried_ = 0; // the request; 0: none, or one of a command that is not written any more
};

} // namespace fusescope
