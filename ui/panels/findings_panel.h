// SPDX-License-Identifier: GPL-3.0-or-later
// The findings, best first, and the evidence of the chosen one.
#pragma once

#include "ui/base/session.h"

#include <QString>
#include <QWidget>

#include <memory>

namespace fusescope {

class FindingsPanel : public QWidget {
    Q_OBJECT
public:
    explicit FindingsPanel(Session* session, QWidget* parent = nullptr);
    ~FindingsPanel() override;
    void setFilter(const QString& text);
    [[nodiscard]] QString copyText() const; // the chosen finding as Markdown, "" if none

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
