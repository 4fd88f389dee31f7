// SPDX-License-Identifier: GPL-3.0-or-later
// What a view shows while it has nothing to show: a sentence, and below it, muted, what would help.
#pragma once

#include "ui/base/session.h"

#include <QWidget>

class QLabel;

namespace fusescope {

class EmptyNote : public QWidget {
    Q_OBJECT
public:
    explicit EmptyNote(Session* session, QWidget* parent = nullptr);
    EmptyNote(Session* session, const QString& title, const QString& detail, QWidget* parent = nullptr);
    void setText(const QString& title, const QString& detail);

private:
    void restyle();
    Session* session_;
    QLabel *title_, *detail_;
};

} // namespace fusescope
