// SPDX-License-Identifier: GPL-3.0-or-later
// Messages inside the window, never in front of it: what could not be opened, what was recovered. Each can be closed.
#pragma once

#include "ui/base/session.h"

#include <QString>
#include <QVBoxLayout>
#include <QWidget>

namespace fusescope {

class Banner : public QWidget {
    Q_OBJECT
public:
    enum class Tone { Error, Note };
    explicit Banner(Session* session, QWidget* parent = nullptr);
    void show(Tone tone, const QString& sentence); // the same sentence again does not stack; the oldest of many goes
    void clear();
    [[nodiscard]] QStringList sentences() const;

private:
    void recolour();
    Session* session_;
    QVBoxLayout* rows_;
};

} // namespace fusescope
