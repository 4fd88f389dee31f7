// SPDX-License-Identifier: Apache-2.0
// Measured instances in the graph: one outline around what one kernel does now, and what that takes.
#include "core/draw/graph_parts.h"
#include "core/draw/text_fit.h"

#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace fusescope {

namespace {
constexpr double kMostName = 170; // of a region: in a label that stands between boxes
}

std::string fusedText(const Analysis& analysis, const FusedGroup& group) {
    std::string text =
        elided(group.region ? group.region->brief : titleOf(analysis, group), {graphdraw::kBadgeSize, true}, kMostName);
    if (group.unfused_ns > 0)
        text += " " + formatDuration(group.unfused_ns) + " → " + formatDuration(group.fused_ns);
    else
        text += " fused " + formatDuration(group.fused_ns);
    if (group.speed != FusedSpeed::Faster) text += group.speed == FusedSpeed::Slower ? ", slower" : ", no gain";
    if (group.instances > 1) text += fmt::format(" ×{}", group.instances);
    return text;
}

namespace graphdraw {
namespace {

constexpr double kAround = 6, kPillHeight = 16;

LayoutRect around(const FusedGroup& group, const LayoutResult& layout) {
    LayoutRect all = layout.boxes[static_cast<std::size_t>(group.boxes.front())];
    for (const std::int32_t box : group.boxes) {
        const LayoutRect& r = layout.boxes[static_cast<std::size_t>(box)];
        const double right = std::max(all.x + all.width, r.x + r.width),
                     bottom = std::max(all.y + all.height, r.y + r.height);
        all.x = std::min(all.x, r.x);
        all.y = std::min(all.y, r.y);
        all.width = right - all.x;
        all.height = bottom - all.y;
    }
    return {all.x - kAround, all.y - kAround, all.width + 2 * kAround, all.height + 2 * kAround};
}

// Whether an outline holds the group and nothing else.
bool standsAlone(const FusedGroup& group, const VisibleGraph& graph, const LayoutResult& layout, const LayoutRect& r) {
    const auto meets = [&](const LayoutRect& b) {
        return r.x < b.x + b.width && b.x < r.x + r.width && r.y < b.y + b.height && b.y < r.y + r.height;
    };
    for (std::size_t i = 0; i < std::min(graph.nodes.size(), layout.boxes.size()); ++i)
        if (!std::binary_search(group.boxes.begin(), group.boxes.end(), static_cast<std::int32_t>(i)) &&
            meets(layout.boxes[i]))
            return false;
    // A frame may lie around it, not across it.
    return std::all_of(layout.clusters.begin(), layout.clusters.end(), [&](const LayoutRect& c) {
        const bool inside =
            r.x >= c.x && r.y >= c.y && r.x + r.width <= c.x + c.width && r.y + r.height <= c.y + c.height;
        return inside || !meets(c);
    });
}

// The innermost frame around a place, or the whole picture.
LayoutRect frameOf(const LayoutRect& place, const LayoutResult& layout) {
    LayoutRect inner{0, 0, layout.width, layout.height};
    for (const LayoutRect& c : layout.clusters)
        if (c.width < inner.width && place.x >= c.x && place.y >= c.y && place.x + place.width <= c.x + c.width &&
            place.y + place.height <= c.y + c.height)
            inner = c;
    return inner;
}

void label(const Analysis& analysis, const std::vector<const FusedGroup*>& groups, const LayoutRect& place,
           const LayoutResult& layout, std::size_t own_box, Emphasis emphasis, Places& places, DrawList& list) {
    if (emphasis == Emphasis::Dimmed) return; // beside what is selected it would only be in the way
    std::string text = fusedText(analysis, *groups.front());
    if (groups.size() > 1) text += fmt::format(" +{}", groups.size() - 1);
    const double width = textWidth(text, {kBadgeSize, true}) + 12;
    const double right = place.x + place.width, bottom = place.y + place.height, middle = place.x + place.width / 2,
                 above = place.y - 12, below = bottom - 3, beside = place.y + (place.height - kPillHeight) / 2;
    // Long ones move along the box rather than across the frame around it, where that is wide enough.
    LayoutRect frame = frameOf(place, layout);
    if (frame.width < width + 8) frame = {0, 0, layout.width, layout.height};
    const double least = frame.x + 4, most = std::max(least, frame.x + frame.width - 4 - width);
    const auto at = [&](double x, double y) { return LayoutRect{x, y, width, kPillHeight}; };
    std::vector<LayoutRect> wanted;
    if (width <= place.width - 8) wanted = {at(right - 4 - width, above), at(place.x + 4, above)};
    for (const double y : {above, below}) {
        wanted.push_back(at(std::clamp(middle + 12, least, most), y)); // edges enter and leave in the middle
        wanted.push_back(at(std::clamp(middle - 12 - width, least, most), y));
    }
    for (const double x : {right - 6, place.x + 6 - width})
        if (x >= least && x <= most) wanted.push_back(at(x, beside));
    for (const double y : {below, above}) wanted.push_back(at(std::clamp(middle - width / 2, least, most), y));
    const LayoutRect chosen = places.take(wanted, own_box, 1000).value_or(wanted.back());
    const Pick pick =
        groups.size() > 1 || groups.front()->instances > 1 ? pickOfWork(*groups.front()) : pickOf(*groups.front());
    pill(list, chosen.x, chosen.y, text, roleOf(groups.front()->speed), pick, emphasis);
}

} // namespace

void drawFusedGroups(const Analysis& analysis, const VisibleGraph& graph, const LayoutResult& layout,
                     const SelectionSets& selection, const Facts& facts, Places& places, DrawList& list) {
    std::map<std::int32_t, std::vector<const FusedGroup*>> single; // by the box of their label
    for (const FusedGroup& group : facts.groups) {
        if (static_cast<std::size_t>(group.boxes.back()) >= layout.boxes.size()) continue;
        const auto first = static_cast<std::size_t>(group.boxes.front());
        if (group.boxes.size() == 1) {
            single[group.boxes.front()].push_back(&group);
            continue;
        }
        const LayoutRect all = around(group, layout);
        if (!standsAlone(group, graph, layout, all)) {
            single[group.boxes.front()].push_back(&group);
            continue;
        }
        const Emphasis emphasis = facts.boxes[first].emphasis;
        DrawRect outline;
        outline.x = all.x;
        outline.y = all.y;
        outline.width = all.width;
        outline.height = all.height;
        outline.radius = 10;
        outline.filled = false;
        outline.stroke = roleOf(group.speed);
        outline.stroke_width = 2;
        outline.emphasis = emphasis == Emphasis::Dimmed ? emphasis : Emphasis::Normal;
        outline.layer = kBoxLayer; // without a pick: a click within it is for the boxes
        list.rects.push_back(outline);
        label(analysis, {&group}, all, layout, first, emphasis, places, list);
    }
    for (auto& [box, groups] : single) {
        const auto i = static_cast<std::size_t>(box);
        std::stable_partition(groups.begin(), groups.end(),
                              [&](const FusedGroup* group) { return isPicked(selection, *group); });
        label(analysis, groups, layout.boxes[i], layout, i, facts.boxes[i].emphasis, places, list);
    }
}

} // namespace graphdraw
} // namespace fusescope
