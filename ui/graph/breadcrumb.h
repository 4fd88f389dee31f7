// SPDX-License-Identifier: GPL-3.0-or-later
// Where in the model the picture is: "Qwen3ForCausalLM › model › layers.0 ×2", and, muted, on to what is selected.
#pragma once

#include "core/graph/module_tree.h"

#include <QWidget>

class QHBoxLayout;

namespace fusescope {

class Breadcrumb : public QWidget {
    Q_OBJECT
public:
    explicit Breadcrumb(QWidget* parent = nullptr);
    // tree may be null: empty. focus invalid: the whole model.
    void show(const ModuleTree* tree, ModuleId focus, ModuleId selected);
    [[nodiscard]] QSize minimumSizeHint() const override { return {40, 28}; }

Q_SIGNALS:
    void chosen(fusescope::ModuleId module); // invalid: the whole model

private:
    void add(const QString& words, const QString& tip, ModuleId module, bool here, bool ahead);
    QHBoxLayout* row_;
    ModuleId focus_, selected_;
    const ModuleTree* tree_ = nullptr;
};

} // namespace fusescope
