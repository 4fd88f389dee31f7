// SPDX-License-Identifier: GPL-3.0-or-later
// Messages inside the window, never in front of it: what could not be opened, what was recovered. Each can be closed.
#pragma once

#include "ui/base/session.h"

#include <QString>
#include <QVBoxLayout>
#include <QWidget>

#include <functional>

namespace fusescope {

class Banner : public QWidget {
    Q_OBJECT
public:
    enum class Tone { Error, Note };
    explicit Banner(Session* session, QWidget* parent = nullptr);
    // The same sentence again does not stack; the oldest of many goes. With an action, a button of that name does it.
    void show(Tone tone, const QString& sentence, const QString& action = {}, std::function<void()> act = {});
    void clear();
    [[nodiscard]] QStringList sentences() const;

private:
    void recolour();
    Session* session_;
    QVBoxLayout* rows_;
};

} // namespace fusescope
