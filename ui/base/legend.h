// SPDX-License-Identifier: GPL-3.0-or-later
// What the colours mean. One line under the timeline for the kinds of work that are there; a popup of the tool bar
// tells all of them, the blocks of the graph and the marks.
#pragma once

#include "core/draw/compose.h"
#include "ui/base/session.h"

#include <QWidget>

namespace fusescope {

// Kinds that occur in the analysed step, longest time first, and the mark of findings.
[[nodiscard]] compose::Legend kindsOf(const Analysis& analysis);

class LegendStrip : public QWidget {
    Q_OBJECT
public:
    explicit LegendStrip(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return {80, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    Session* session_;
    compose::Legend legend_;
};

class LegendCard : public QWidget { // the popup
    Q_OBJECT
public:
    explicit LegendCard(const Session* session, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    [[nodiscard]] DrawList picture() const;
    const Session* session_;
};

} // namespace fusescope
