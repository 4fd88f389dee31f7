// SPDX-License-Identifier: GPL-3.0-or-later
// Painting a DrawList with QPainter, and the palette of the widgets around it.
#pragma once

#include "core/draw/draw_list.h"

#include <QColor>
#include <QFont>
#include <QPainter>
#include <QPalette>
#include <QRectF>
#include <QString>

namespace fusescope {

[[nodiscard]] QColor qColor(ColourRole role, Theme theme);
// Items outside visible (in the list's coordinates) are skipped; an empty rectangle paints all.
void paintDrawList(QPainter& painter, const DrawList& list, Theme theme, const QRectF& visible = {});
// Topmost pick at a point: markers, then rectangles from the highest layer down, then lines (within 4 px).
[[nodiscard]] Pick pickAt(const DrawList& list, QPointF point);
[[nodiscard]] QPalette paletteOf(Theme theme);
[[nodiscard]] QString styleSheetOf(Theme theme); // small: only what the palette cannot say
[[nodiscard]] QFont uiFont(double pixels, bool bold = false, bool mono = false);
[[nodiscard]] QString text(std::string_view utf8); // hostile bytes become U+FFFD

} // namespace fusescope
