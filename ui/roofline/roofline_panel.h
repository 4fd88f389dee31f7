// SPDX-License-Identifier: GPL-3.0-or-later
// The roofline on Qt Charts.
#pragma once

#include "ui/base/session.h"

#include <QWidget>

#include <memory>

namespace fusescope {

class RooflinePanel : public QWidget {
    Q_OBJECT
public:
    explicit RooflinePanel(Session* session, QWidget* parent = nullptr);
    ~RooflinePanel() override;
    void resetZoom();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
