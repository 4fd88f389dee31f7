// SPDX-License-Identifier: Apache-2.0
// Where badges and the labels of edges stand: they hide no arrow head, no box and no title, and cross no border if
// there is a place that does not.
#include "core/draw/compose.h"
#include "core/draw/graph_parts.h"
#include "core/draw/text_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

namespace fusescope::graphdraw {
namespace {

constexpr double kBadgeHeight = 16, kLabelHeight = 12;
constexpr double kNever = 1000; // cost of what must not be

bool overlap(const LayoutRect& a, const LayoutRect& b) noexcept {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}
bool inside(const LayoutRect& a, const LayoutRect& b) noexcept {
    return a.x >= b.x && a.y >= b.y && a.x + a.width <= b.x + b.width && a.y + a.height <= b.y + b.height;
}
LayoutRect grown(const LayoutRect& r, double by) noexcept {
    return {r.x - by, r.y - by, r.width + 2 * by, r.height + 2 * by};
}

// Whether a piece of a line meets a rectangle (Liang and Barsky).
bool meets(Point a, Point b, const LayoutRect& r) noexcept {
    double from = 0, to = 1;
    const double dx = b.x - a.x, dy = b.y - a.y;
    const std::array<std::pair<double, double>, 4> sides = {
        {{-dx, a.x - r.x}, {dx, r.x + r.width - a.x}, {-dy, a.y - r.y}, {dy, r.y + r.height - a.y}}};
    for (const auto& [p, q] : sides) {
        if (p == 0) {
            if (q < 0) return false;
            continue;
        }
        if (p < 0)
            from = std::max(from, q / p);
        else
            to = std::min(to, q / p);
    }
    return from <= to;
}

} // namespace

Places::Places(const LayoutResult& layout, const VisibleGraph& graph) : layout_(layout) {
    boxes_ = layout.boxes;
    for (std::size_t i = 0; i < std::min(layout.clusters.size(), graph.clusters.size()); ++i) {
        LayoutRect frame = layout.clusters[i];
        headers_.push_back({frame.x, frame.y, frame.width, std::min(kHeaderHeight, frame.height)});
        if (graph.clusters[i].repeat > 1) { // the cards below it belong to it
            frame.width += 8;
            frame.height += 8;
        }
        frames_.push_back(frame);
    }
    bounds_.reserve(layout.edges.size());
    for (const LayoutResult::Edge& edge : layout.edges) {
        Point low{std::numeric_limits<double>::max(), std::numeric_limits<double>::max()}, high{-low.x, -low.y};
        for (const Point& p : edge.path) {
            low = {std::min(low.x, p.x), std::min(low.y, p.y)};
            high = {std::max(high.x, p.x), std::max(high.y, p.y)};
        }
        bounds_.push_back({low.x, low.y, high.x - low.x, high.y - low.y});
    }
}

double Places::cost(const LayoutRect& r, std::size_t own_box) const {
    const auto hits = [&](const std::vector<LayoutRect>& others) {
        for (std::size_t i = 0; i < others.size(); ++i)
            if (!(&others == &boxes_ && i == own_box) && overlap(r, others[i])) return true;
        return false;
    };
    if (hits(boxes_) || hits(headers_) || hits(taken_)) return kNever;
    double sum = 0;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
        // A part of it within, a part without: it would lie across the border.
        const LayoutRect &outer = frames_[i], &bare = layout_.clusters[i];
        if (overlap(grown(r, 1), outer) && !inside(grown(r, 1), bare)) sum += 40;
    }
    for (std::size_t i = 0; i < layout_.edges.size(); ++i) {
        const std::vector<Point>& path = layout_.edges[i].path;
        if (path.empty() || !overlap(grown(bounds_[i], 8), r)) continue;
        const Point tip = path.back();
        if (overlap(grown(r, 6), {tip.x, tip.y, 0.1, 0.1})) sum += 60;
        for (std::size_t k = 1; k < path.size(); ++k)
            if (meets(path[k - 1], path[k], grown(r, 1))) {
                sum += 12;
                break;
            }
    }
    return sum;
}

std::optional<LayoutRect> Places::take(const std::vector<LayoutRect>& wanted, std::size_t own_box, double most) {
    double best = most;
    std::optional<LayoutRect> chosen;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const double here = cost(wanted[i], own_box) + static_cast<double>(i); // the earlier, the dearer wished
        if (here >= best) continue;
        best = here;
        chosen = wanted[i];
    }
    if (chosen) taken_.push_back(*chosen);
    return chosen;
}

double pill(DrawList& list, double x, double y, const std::string& text, ColourRole fill, Pick pick,
            Emphasis emphasis) {
    const double width = textWidth(text, {kBadgeSize, true}) + 12;
    DrawRect rect;
    rect.x = x;
    rect.y = y;
    rect.width = width;
    rect.height = kBadgeHeight;
    rect.radius = kBadgeHeight / 2;
    rect.fill = fill;
    rect.layer = kBadgeLayer;
    rect.pick = pick;
    rect.emphasis = emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
    list.rects.push_back(rect);
    DrawText& item =
        compose::text(list, rect.x + width / 2, y + 11.5, text, kBadgeSize, textOn(fill), TextAlign::Centre);
    item.bold = true;
    item.layer = kBadgeLayer;
    item.pick = pick;
    item.emphasis = rect.emphasis;
    return width;
}

void drawBadge(const Analysis& analysis, std::size_t box, const LayoutRect& place, const BoxFacts& facts,
               Places& places, DrawList& list) {
    if (facts.badges.empty()) return;
    std::string text = catalogEntry(analysis.findings[facts.badges.front()].pattern).title;
    if (facts.badges.size() > 1) text += fmt::format(" +{}", facts.badges.size() - 1);
    text = elided(text, {kBadgeSize, true}, std::max(160.0, place.width / 2));
    const double width = textWidth(text, {kBadgeSize, true}) + 12;
    const double right = place.x + place.width, bottom = place.y + place.height, middle = place.x + place.width / 2,
                 above = place.y - 12, below = bottom - 1, beside = place.y + (place.height - kBadgeHeight) / 2;
    const auto at = [&](double x, double y) { return LayoutRect{x, y, width, kBadgeHeight}; };
    std::vector<LayoutRect> wanted;
    if (width <= place.width - 8) // over a corner, within the width of the box
        wanted = {at(right - 4 - width, above), at(place.x + 4, above)};
    wanted.push_back(at(middle + 12, above)); // edges enter in the middle
    wanted.push_back(at(middle - 12 - width, above));
    wanted.push_back(at(right - 6, beside));
    wanted.push_back(at(place.x + 6 - width, beside));
    wanted.push_back(at(middle + 12, below));
    wanted.push_back(at(middle - 12 - width, below));
    const LayoutRect chosen = places.take(wanted, box, kNever).value_or(wanted.front());
    pill(list, chosen.x, chosen.y, text, ColourRole::Flagged, facts.flag, facts.emphasis);
}

void drawEdgeLabel(const std::string& label, const LayoutResult::Edge& edge, Emphasis emphasis, Places& places,
                   DrawList& list) {
    if (label.empty() || edge.path.size() < 2) return;
    const double width = textWidth(label, {kLabelSize});
    // The edge at the height of the label: beside it, on either side, is the label's place.
    const auto edgeAt = [&](double y) {
        for (std::size_t k = 1; k < edge.path.size(); ++k) {
            const Point &a = edge.path[k - 1], &b = edge.path[k];
            if ((a.y <= y) == (b.y <= y) || a.y == b.y) continue;
            return a.x + (b.x - a.x) * (y - a.y) / (b.y - a.y);
        }
        return edge.label.x - width / 2 - 4;
    };
    const auto at = [&](double middle, double y) {
        return LayoutRect{middle - width / 2 - 2, y - kLabelHeight / 2, width + 4, kLabelHeight};
    };
    std::vector<LayoutRect> wanted{at(edge.label.x, edge.label.y)};
    for (const double dy : {0.0, -14.0, 14.0, -40.0, 40.0}) {
        const double y = edge.label.y + dy, x = edgeAt(y);
        wanted.push_back(at(x + 6 + width / 2, y));
        wanted.push_back(at(x - 6 - width / 2, y));
    }
    // Better none than one across a border: the tooltip of the box names the shape too.
    const std::optional<LayoutRect> chosen = places.take(wanted, Places::kNoBox, 40);
    if (!chosen) return;
    DrawText& text = compose::text(list, chosen->x + chosen->width / 2, chosen->y + 9.5, label, kLabelSize,
                                   ColourRole::TextMuted, TextAlign::Centre);
    text.layer = kTextLayer;
    text.emphasis = emphasis;
}

} // namespace fusescope::graphdraw
