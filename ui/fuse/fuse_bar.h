// SPDX-License-Identifier: GPL-3.0-or-later
// Below the details of a finding: the button that measures it, how far it is, what went wrong; and the button that
// makes a region of what is selected in the views.
#pragma once

#include "ui/fuse/fuse_queue.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace fusescope {

class FuseBar : public QWidget {
    Q_OBJECT
public:
    FuseBar(Session* session, FuseQueue* queue, QWidget* parent = nullptr);
    void show(int row); // of the finding or region, -1: none
    bool refresh();     // what is selected may be another; whether anything can be done

Q_SIGNALS:
    void runnerWanted(); // where a runner could be named

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void update();
    void elide();
    void fitNote();
    Session* session_;
    FuseQueue* queue_;
    int row_ = -1;
    QString words_, short_words_; // of the button for the selection, in full, and for little room
    QPushButton *button_, *runner_, *this_;
    QProgressBar* progress_;
    QLabel* note_;
};

} // namespace fusescope
