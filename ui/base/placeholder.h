// SPDX-License-Identifier: GPL-3.0-or-later
// What a picture shows while it has nothing to show: a title, and below it, muted, what would help.
#pragma once

#include "ui/base/session.h"

#include <QWidget>

namespace fusescope {

class Placeholder : public QWidget {
    Q_OBJECT
public:
    Placeholder(Session *session, const QString &title, const QString &detail, QWidget *parent = nullptr);

protected:
    void paintEvent(QPaintEvent *event) override;

private:
    Session *session_;
    QString title_, detail_;
};

} // namespace fusescope
