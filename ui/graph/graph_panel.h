// SPDX-License-Identifier: GPL-3.0-or-later
// The model graph with its breadcrumb; expanding lays out in another process while the old picture stays.
#pragma once

#include "ui/base/session.h"

#include <QWidget>

#include <memory>

namespace fusescope {

class GraphPanel : public QWidget {
    Q_OBJECT
public:
    explicit GraphPanel(Session* session, QWidget* parent = nullptr);
    ~GraphPanel() override;

    [[nodiscard]] bool settled() const; // no layout is running
    void fit();
    void zoomIn();
    void zoomOut();
    void zoomToSelection();
    void focusModule(ModuleId module); // shows only this module's inside; invalid = whole model
    void toggleExpanded(ModuleId module);

Q_SIGNALS:
    void layoutFinished();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
