// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/breadcrumb.h"

#include "core/draw/text_fit.h"
#include "ui/base/paint.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

constexpr std::size_t kMostCrumbs = 8;

std::vector<ModuleId> pathTo(const ModuleTree& tree, ModuleId module) {
    std::vector<ModuleId> path;
    for (; module.valid() && module.index() < tree.modules.size() && path.size() < 256; module = tree.at(module).parent)
        path.push_back(module);
    std::reverse(path.begin(), path.end());
    return path;
}

// Lists carry no meaning of their own: "layers" and "0" are shown as "layers.0".
bool isNumber(std::string_view name) {
    return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

} // namespace

Breadcrumb::Breadcrumb(QWidget* parent) : QWidget(parent), row_(new QHBoxLayout(this)) {
    setObjectName(QStringLiteral("graphBreadcrumb"));
    setAccessibleName(tr("Place in the model"));
    row_->setContentsMargins(4, 0, 4, 0);
    row_->setSpacing(0);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

void Breadcrumb::add(const QString& words, const QString& tip, ModuleId module, bool here, bool ahead) {
    if (row_->count() > 0) {
        auto* arrow = new QLabel(QStringLiteral("›"), this);
        arrow->setForegroundRole(QPalette::PlaceholderText);
        row_->addWidget(arrow);
    }
    auto* button = new QToolButton(this);
    button->setText(words);
    button->setToolTip(tip);
    button->setAccessibleName(tip);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setCursor(Qt::PointingHandCursor);
    if (here) {
        QFont font = button->font();
        font.setWeight(QFont::DemiBold);
        button->setFont(font);
    }
    if (ahead) {
        QPalette palette = button->palette();
        palette.setColor(QPalette::ButtonText, palette.color(QPalette::PlaceholderText));
        button->setPalette(palette);
    }
    connect(button, &QToolButton::clicked, this, [this, module] { Q_EMIT chosen(module); });
    row_->addWidget(button);
}

void Breadcrumb::show(const ModuleTree* tree, ModuleId focus, ModuleId selected) {
    if (tree == tree_ && focus == focus_ && selected == selected_ && (row_->count() > 0) == (tree != nullptr)) return;
    tree_ = tree;
    focus_ = focus;
    selected_ = selected;
    while (QLayoutItem* item = row_->takeAt(0)) {
        if (QWidget* widget = item->widget()) {
            widget->hide();
            widget->deleteLater(); // this may be the answer to its click
        }
        delete item;
    }
    if (!tree || tree->modules.empty()) return;
    const std::vector<ModuleId> to_focus = pathTo(*tree, focus.valid() ? focus : ModuleId(0));
    std::vector<ModuleId> path = to_focus;
    if (selected.valid() && tree->contains(to_focus.back(), selected)) path = pathTo(*tree, selected);
    for (std::size_t i = 0; i < path.size(); ++i) {
        const Module& module = tree->at(path[i]);
        const bool root = i == 0;
        if (i > 1 && path.size() > kMostCrumbs && i + kMostCrumbs / 2 < path.size())
            continue; // the middle of a very long one
        std::string_view shown = root
                                     ? (module.type.empty() ? std::string_view("model") : std::string_view(module.type))
                                     : std::string_view(module.name);
        QString words;
        if (!root && i + 1 < path.size() && isNumber(tree->at(path[i + 1]).name) && i + 1 != to_focus.size())
            continue; // joins its child
        if (!root && isNumber(shown) && module.parent.valid() && module.parent != path[0])
            words = text(visibleText(tree->at(module.parent).name, 60)) + QChar(u'.');
        words += text(visibleText(shown, 60));
        if (module.fold_group < tree->folds.size())
            words += QStringLiteral(" ×%1").arg(tree->folds[module.fold_group].members.size());
        const QString tip = root ? tr("The whole model") : tr("Show only %1").arg(text(visibleText(module.path, 300)));
        add(words, tip, root ? ModuleId{} : path[i], i + 1 == to_focus.size(), i >= to_focus.size());
    }
    row_->addStretch(1);
}

} // namespace fusescope
