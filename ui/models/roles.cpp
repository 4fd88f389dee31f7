// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/roles.h"

#include "ui/base/paint.h"

#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QItemSelectionModel>
#include <QStringList>
#include <QTableView>
#include <QTreeView>

#include <algorithm>

namespace fusescope {
namespace {

bool hidden(const QAbstractItemView& view, int column) {
    if (const auto* table = qobject_cast<const QTableView*>(&view)) return table->isColumnHidden(column);
    if (const auto* tree = qobject_cast<const QTreeView*>(&view)) return tree->isColumnHidden(column);
    return false;
}

} // namespace

QIcon kindIcon(OpKind kind, Theme theme) {
    constexpr int side = 10, scale = 3;
    QPixmap pixmap(side * scale, side * scale);
    pixmap.setDevicePixelRatio(scale);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(qColor(roleOf(kind), theme));
    painter.drawRoundedRect(QRectF(0, 0, side, side), 2, 2);
    painter.end();
    QIcon icon(pixmap);
    icon.addPixmap(pixmap, QIcon::Selected); // the style would tint it otherwise
    return icon;
}

QString rowsAsText(const QAbstractItemView& view) {
    const QAbstractItemModel* model = view.model();
    if (model == nullptr || view.selectionModel() == nullptr) return {};
    // Titles without the arrow of the sorted column.
    const auto* proxy = qobject_cast<const QAbstractProxyModel*>(model);
    const QAbstractItemModel* titles = proxy != nullptr ? proxy->sourceModel() : model;
    QModelIndexList rows = view.selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    QStringList lines;
    const auto line = [&](auto&& cell) {
        QStringList cells;
        for (int column = 0; column < model->columnCount(); ++column)
            if (!hidden(view, column)) cells.append(cell(column).simplified());
        lines.append(cells.join(QLatin1Char('\t')));
    };
    if (rows.size() > 1) line([&](int column) { return titles->headerData(column, Qt::Horizontal).toString(); });
    for (const QModelIndex& row : rows) line([&](int column) { return row.siblingAtColumn(column).data().toString(); });
    return lines.join(QLatin1Char('\n'));
}

void addCopyAction(QAbstractItemView& view) {
    auto* action = new QAction(QCoreApplication::translate("fusescope::Items", "Copy rows"), &view);
    action->setShortcut(QKeySequence::Copy);
    action->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(action, &QAction::triggered, &view, [&view] {
        const QString copied = rowsAsText(view);
        if (!copied.isEmpty()) QGuiApplication::clipboard()->setText(copied);
    });
    view.addAction(action);
    view.setContextMenuPolicy(Qt::ActionsContextMenu);
}

void useQuietSelection(QAbstractItemView& view, Theme theme) {
    const QColor accent = qColor(ColourRole::Accent, theme), surface = qColor(ColourRole::Surface, theme);
    constexpr float part = 0.22F;
    const auto mix = [](float a, float b) { return a * part + b * (1 - part); };
    const QColor pale = QColor::fromRgbF(mix(accent.redF(), surface.redF()), mix(accent.greenF(), surface.greenF()),
                                         mix(accent.blueF(), surface.blueF()));
    QPalette palette = paletteOf(theme);
    palette.setColor(QPalette::Highlight, pale);
    palette.setColor(QPalette::HighlightedText, qColor(ColourRole::Text, theme));
    view.setPalette(palette);
    view.viewport()->setPalette(palette);
}

} // namespace fusescope
