// SPDX-License-Identifier: GPL-3.0-or-later
// The kernel timeline: minimap, ruler, row labels, rows. Pan and zoom by mouse and W/A/S/D.
#pragma once

#include "ui/base/session.h"

#include <QAction>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <utility>

namespace fusescope {

class TimelinePanel : public QWidget {
    Q_OBJECT
public:
    explicit TimelinePanel(Session* session, QWidget* parent = nullptr);
    ~TimelinePanel() override;

    [[nodiscard]] std::pair<std::int64_t, std::int64_t> range() const; // ns, visible
    void setRange(std::int64_t t0, std::int64_t t1);                   // clamped to the trace
    void showStep();                                                   // the analysed step
    void showAll();
    void zoomToSelection();
    // Checkable: later work moved up by what was measured, or all as recorded. Enabled once something is measured.
    [[nodiscard]] QAction* afterAction() const;

Q_SIGNALS:
    void rangeChanged();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
