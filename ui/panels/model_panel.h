// SPDX-License-Identifier: GPL-3.0-or-later
// The model tree: parameters, FLOPs, measured time and share of every module, identical layers folded.
#pragma once

#include "ui/base/session.h"

#include <QByteArray>
#include <QWidget>

#include <memory>

namespace fusescope {

class ModelPanel : public QWidget {
    Q_OBJECT
public:
    explicit ModelPanel(Session* session, QWidget* parent = nullptr);
    ~ModelPanel() override;
    void setFilter(const QString& text);
    // Widths and choice of columns, as the user made them, for another run; empty: as they are at first.
    [[nodiscard]] QByteArray columns() const;
    void setColumns(const QByteArray& state); // of columns(); what is none is taken as empty

Q_SIGNALS:
    void moduleActivated(fusescope::ModuleId module); // double click, Enter: show it in the graph

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
