// SPDX-License-Identifier: GPL-3.0-or-later
// Where in the model the picture is: "Qwen3ForCausalLM › model › layers 0–1 ×2", and, muted, on to what is selected.
// What finds no room goes into the menu of one "…": the root and the end stay longest.
#pragma once

#include "core/graph/module_tree.h"

#include <QWidget>

#include <vector>

class QHBoxLayout;
class QToolButton;

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

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Crumb {
        QString words, tip;
        ModuleId module; // invalid: the whole model
        bool here = false, ahead = false;
    };
    void arrange(); // as many as there is room for
    void clearRow();
    void addMenu(std::size_t first, std::size_t end);
    QToolButton* addButton(const QString& words, const Crumb& crumb);

    QHBoxLayout* row_;
    std::vector<Crumb> crumbs_;
    ModuleId focus_, selected_;
    const ModuleTree* tree_ = nullptr;
};

} // namespace fusescope
