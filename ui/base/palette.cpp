// SPDX-License-Identifier: GPL-3.0-or-later
// The colours of the widgets around the pictures, from the same table as the pictures.
#include "ui/base/paint.h"

namespace fusescope {

QPalette paletteOf(Theme theme) {
    const auto c = [theme](ColourRole role) { return qColor(role, theme); };
    const bool dark = theme == Theme::Dark;
    QPalette palette;
    palette.setColor(QPalette::Window, c(ColourRole::Background));
    palette.setColor(QPalette::WindowText, c(ColourRole::Text));
    palette.setColor(QPalette::Base, c(ColourRole::Surface));
    palette.setColor(QPalette::AlternateBase, c(ColourRole::Background));
    palette.setColor(QPalette::Text, c(ColourRole::Text));
    palette.setColor(QPalette::PlaceholderText, c(ColourRole::TextMuted));
    palette.setColor(QPalette::Button, c(ColourRole::SurfaceRaised));
    palette.setColor(QPalette::ButtonText, c(ColourRole::Text));
    palette.setColor(QPalette::BrightText, c(ColourRole::Danger));
    palette.setColor(QPalette::ToolTipBase, c(dark ? ColourRole::SurfaceRaised : ColourRole::Surface));
    palette.setColor(QPalette::ToolTipText, c(ColourRole::Text));
    palette.setColor(QPalette::Highlight, c(ColourRole::Accent));
    palette.setColor(QPalette::HighlightedText, dark ? c(ColourRole::Background) : QColor(Qt::white));
    palette.setColor(QPalette::Link, c(ColourRole::Accent));
    palette.setColor(QPalette::LinkVisited, c(ColourRole::Accent));
    // Fusion draws its bevels with these: close to the surfaces, so that frames stay quiet.
    palette.setColor(QPalette::Light, dark ? c(ColourRole::SurfaceRaised).lighter(115) : QColor(Qt::white));
    palette.setColor(QPalette::Midlight, c(ColourRole::SurfaceRaised));
    palette.setColor(QPalette::Mid, c(ColourRole::Border));
    palette.setColor(QPalette::Dark, dark ? c(ColourRole::Border) : c(ColourRole::Border).darker(112));
    palette.setColor(QPalette::Shadow, dark ? QColor(Qt::black) : c(ColourRole::TextMuted));
    for (const QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        QColor faded = c(ColourRole::TextMuted);
        faded.setAlphaF(0.65F);
        palette.setColor(QPalette::Disabled, role, faded);
    }
    palette.setColor(QPalette::Disabled, QPalette::Highlight, c(ColourRole::Border));
    palette.setColor(QPalette::Disabled, QPalette::HighlightedText, c(ColourRole::TextMuted));
    return palette;
}

QString styleSheetOf(Theme theme) {
    const auto c = [theme](ColourRole role) { return qColor(role, theme).name(); };
    const QString sheet =
        QStringLiteral("QToolTip { color: %1; background: %2; border: 1px solid %3; padding: 4px 6px; }"
                       "QDockWidget::title { padding: 4px 8px; text-align: left; }" // without an alignment, no padding
                       "QMainWindow::separator { background: %4; width: 5px; height: 5px; }"
                       "QMainWindow::separator:hover { background: %5; }"
                       "QSplitter::handle { background: %4; }"
                       "QHeaderView::section { background: %6; color: %7; border: none; border-right: 1px solid %4;"
                       " border-bottom: 1px solid %3; padding: 4px 6px; }"
                       "QTreeView, QTableView, QListView { border: none; }"
                       "QToolBar { border: none; spacing: 4px; padding: 2px 4px; }"
                       "QToolButton::menu-indicator { image: none; }"
                       "QStatusBar::item { border: none; }");
    return sheet.arg(c(ColourRole::Text), c(theme == Theme::Dark ? ColourRole::SurfaceRaised : ColourRole::Surface),
                     c(ColourRole::Border), c(ColourRole::Grid), c(ColourRole::Accent), c(ColourRole::Background),
                     c(ColourRole::TextMuted));
}

} // namespace fusescope
