// SPDX-License-Identifier: Apache-2.0
// Small helpers to put draw lists together.
#pragma once

#include "core/draw/draw_list.h"

#include <string>
#include <utility>
#include <vector>

namespace fusescope::compose {

// Adds everything of part, moved by (dx, dy).
void append(DrawList& list, DrawList part, double dx, double dy);
DrawText& text(DrawList& list, double x, double y, std::string text, double size, ColourRole fill,
               TextAlign align = TextAlign::Left);
DrawText& elidedText(DrawList& list, double x, double y, const std::string& words, double size, ColourRole fill,
                     double max_width);
DrawLine& line(DrawList& list, double x0, double y0, double x1, double y1, ColourRole stroke, double width = 1);

struct Legend {
    std::vector<std::pair<ColourRole, std::string>> entries;
};
// Swatches in rows within a width; returns the y below the last row.
double drawLegend(DrawList& list, const Legend& legend, double x, double y, double width);

} // namespace fusescope::compose
