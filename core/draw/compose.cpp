// SPDX-License-Identifier: Apache-2.0
#include "core/draw/compose.h"

#include "core/draw/text_fit.h"

#include <iterator>

namespace fusescope::compose {
namespace {

template <class Item> void move(std::vector<Item>& to, std::vector<Item>& from, double dx, double dy) {
    for (Item& item : from) {
        if constexpr (requires { item.points; }) {
            for (auto& [x, y] : item.points) {
                x += dx;
                y += dy;
            }
        } else {
            item.x += dx;
            item.y += dy;
        }
    }
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

} // namespace

void append(DrawList& list, DrawList part, double dx, double dy) {
    move(list.rects, part.rects, dx, dy);
    move(list.lines, part.lines, dx, dy);
    move(list.texts, part.texts, dx, dy);
    move(list.markers, part.markers, dx, dy);
}

DrawText& text(DrawList& list, double x, double y, std::string text, double size, ColourRole fill, TextAlign align) {
    DrawText item;
    item.x = x;
    item.y = y;
    item.text = std::move(text);
    item.size = size;
    item.fill = fill;
    item.align = align;
    list.texts.push_back(std::move(item));
    return list.texts.back();
}

DrawText& elidedText(DrawList& list, double x, double y, const std::string& words, double size, ColourRole fill,
                     double max_width) {
    DrawText& item = text(list, x, y, elided(words, {size}, max_width), size, fill);
    item.max_width = max_width;
    return item;
}

DrawLine& line(DrawList& list, double x0, double y0, double x1, double y1, ColourRole stroke, double width) {
    DrawLine item;
    item.points = {{x0, y0}, {x1, y1}};
    item.stroke = stroke;
    item.width = width;
    list.lines.push_back(std::move(item));
    return list.lines.back();
}

double drawLegend(DrawList& list, const Legend& legend, double x, double y, double width) {
    constexpr double row = 20, swatch = 10, size = 11;
    double at = x, top = y;
    for (const auto& [role, name] : legend.entries) {
        const double needed = swatch + 6 + textWidth(name, {size}) + 16;
        if (at > x && at + needed > x + width) {
            at = x;
            top += row;
        }
        DrawRect rect;
        rect.x = at;
        rect.y = top + (row - swatch) / 2;
        rect.width = rect.height = swatch;
        rect.radius = 2;
        rect.fill = role;
        const bool mark = role == ColourRole::Flagged || role == ColourRole::Good || role == ColourRole::TextMuted ||
                          role == ColourRole::Danger;
        if (mark) { // marks are outlines, so is their swatch
            rect.filled = false;
            rect.stroke = role;
            rect.stroke_width = 2;
        }
        if (role >= ColourRole::BlockEmbedding && role <= ColourRole::BlockPlainStroke) { // pale: with their stroke
            rect.stroke = static_cast<ColourRole>(static_cast<unsigned>(role) + 1);
            rect.stroke_width = 1;
        }
        list.rects.push_back(rect);
        text(list, at + swatch + 6, top + row / 2 + 4, name, size, ColourRole::TextMuted);
        at += needed;
    }
    return legend.entries.empty() ? y : top + row;
}

} // namespace fusescope::compose
