// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/breadcrumb.h"

#include "core/draw/names.h"
#include "core/draw/text_fit.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QResizeEvent>
#include <QToolButton>

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

constexpr int kArrowRoom = 12, kButtonPadding = 12, kLeastWords = 48;

std::vector<ModuleId> pathTo(const ModuleTree& tree, ModuleId module) {
    std::vector<ModuleId> path;
    for (; module.valid() && module.index() < tree.modules.size() && path.size() < 256; module = tree.at(module).parent)
        path.push_back(module);
    std::reverse(path.begin(), path.end());
    return path;
}

// Lists carry no meaning of their own: "layers" and "0" are shown as "layers 0".
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

QToolButton* Breadcrumb::addButton(const QString& words, const Crumb& crumb) {
    if (row_->count() > 0) {
        auto* arrow = new QLabel(QStringLiteral("›"), this);
        arrow->setForegroundRole(QPalette::PlaceholderText);
        arrow->setFixedWidth(kArrowRoom);
        arrow->setAlignment(Qt::AlignCenter);
        row_->addWidget(arrow);
    }
    auto* button = new QToolButton(this);
    button->setText(QString(words).replace(QLatin1Char('&'), QLatin1String("&&")));
    button->setToolTip(
        plainTip(words == crumb.words ? crumb.tip : QString(crumb.words + QLatin1Char('\n') + crumb.tip)));
    button->setAccessibleName(crumb.tip);
    button->setAutoRaise(true);
    button->setFocusPolicy(Qt::TabFocus);
    button->setCursor(Qt::PointingHandCursor);
    if (crumb.here) {
        QFont font = button->font();
        font.setWeight(QFont::DemiBold);
        button->setFont(font);
    }
    if (crumb.ahead) {
        QPalette palette = button->palette();
        palette.setColor(QPalette::ButtonText, palette.color(QPalette::PlaceholderText));
        button->setPalette(palette);
    }
    row_->addWidget(button);
    return button;
}

void Breadcrumb::clearRow() {
    while (QLayoutItem* item = row_->takeAt(0)) {
        if (QWidget* widget = item->widget()) {
            widget->hide();
            widget->deleteLater(); // this may be the answer to its click
        }
        delete item;
    }
}

void Breadcrumb::addMenu(std::size_t first, std::size_t end) {
    Crumb hidden;
    hidden.words = QStringLiteral("…");
    QStringList names;
    for (std::size_t i = first; i < end; ++i) names << crumbs_[i].words;
    hidden.tip = names.join(QStringLiteral(" › "));
    QToolButton* button = addButton(hidden.words, hidden);
    auto* menu = new QMenu(button);
    for (std::size_t i = first; i < end; ++i)
        menu->addAction(QString(crumbs_[i].words).replace(QLatin1Char('&'), QLatin1String("&&")), this,
                        [this, to = crumbs_[i].module] { Q_EMIT chosen(to); });
    button->setMenu(menu);
    button->setPopupMode(QToolButton::InstantPopup);
}

void Breadcrumb::arrange() {
    clearRow();
    if (crumbs_.empty()) return;
    QFont bold = font();
    bold.setWeight(QFont::DemiBold);
    const QFontMetrics metrics(font()), bold_metrics(bold);
    const auto room = [&](const Crumb& c) {
        return (c.here ? bold_metrics : metrics).horizontalAdvance(c.words) + kButtonPadding + kArrowRoom;
    };
    const int more = metrics.horizontalAdvance(QStringLiteral("…")) + kButtonPadding + kArrowRoom;
    int needed = 8;
    for (const Crumb& crumb : crumbs_) needed += room(crumb);
    // The root and the end stay longest.
    std::size_t first = 1, end = 1; // hidden: [first, end)
    const auto fits = [&] { return needed + (end > first ? more : 0) <= width(); };
    while (!fits() && end + 1 < crumbs_.size()) needed -= room(crumbs_[end++]);
    if (!fits() && crumbs_.size() > 1) needed -= room(crumbs_[--first]);
    if (end > first) needed += more;
    for (std::size_t i = 0; i < crumbs_.size(); ++i) {
        if (i == first && end > first) {
            addMenu(first, end);
            i = end;
        }
        const Crumb& crumb = crumbs_[i];
        QString words = crumb.words;
        if (i + 1 == crumbs_.size() && needed > width()) // the last one alone is too long
            words =
                (crumb.here ? bold_metrics : metrics)
                    .elidedText(words, Qt::ElideMiddle,
                                std::max(kLeastWords, width() - (needed - room(crumb)) - kButtonPadding - kArrowRoom));
        connect(addButton(words, crumb), &QToolButton::clicked, this, [this, to = crumb.module] { Q_EMIT chosen(to); });
    }
    row_->addStretch(1);
}

void Breadcrumb::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    if (event->oldSize().width() != width()) arrange();
}

void Breadcrumb::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) arrange();
}

void Breadcrumb::show(const ModuleTree* tree, ModuleId focus, ModuleId selected) {
    if (tree == tree_ && focus == focus_ && selected == selected_ && crumbs_.empty() != (tree != nullptr)) return;
    tree_ = tree;
    focus_ = focus;
    selected_ = selected;
    crumbs_.clear();
    if (tree && !tree->modules.empty()) {
        const std::vector<ModuleId> to_focus = pathTo(*tree, focus.valid() ? focus : ModuleId(0));
        std::vector<ModuleId> path = to_focus;
        if (selected.valid() && tree->contains(to_focus.back(), selected)) path = pathTo(*tree, selected);
        for (std::size_t i = 0; i < path.size(); ++i) {
            const bool root = i == 0;
            if (!root && i + 1 < path.size() && isNumber(tree->at(path[i + 1]).name) && i + 1 != to_focus.size())
                continue; // joins its child
            Crumb crumb;
            crumb.words = text(visibleText(displayModuleName(*tree, path[i], true), 120));
            crumb.tip =
                root ? tr("The whole model") : tr("Show only %1").arg(text(visibleText(tree->at(path[i]).path, 300)));
            crumb.module = root ? ModuleId{} : path[i];
            crumb.here = i + 1 == to_focus.size();
            crumb.ahead = i >= to_focus.size();
            crumbs_.push_back(std::move(crumb));
        }
    }
    arrange();
}

} // namespace fusescope
