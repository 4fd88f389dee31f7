// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of kernels and operators of the analysed step.
#pragma once

#include "ui/base/session.h"

#include <QWidget>

#include <memory>

namespace fusescope {

class TablesPanel : public QWidget {
    Q_OBJECT
public:
    explicit TablesPanel(Session* session, QWidget* parent = nullptr);
    ~TablesPanel() override;
    void setFilter(const QString& text);

protected:
    void showEvent(QShowEvent* event) override;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
