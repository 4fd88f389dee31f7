// SPDX-License-Identifier: Apache-2.0
// One level of the layered layout: boxes in ranks, edges downwards. Nested clusters are laid out level by level, each
// as one box of the next. Private to core/graph.
#pragma once

#include "core/graph/layout.h"

#include <cstdint>
#include <vector>

namespace fusescope::layered {

struct Segment {
    static constexpr std::int32_t kBorder = -1; // the upper border as `from`, the lower one as `to`
    std::int32_t from = kBorder, to = kBorder;  // from < to where both are boxes
    double from_offset = 0, to_offset = 0;      // of the end, from the middle of its box
    bool from_fixed = false, to_fixed = false;  // the offset is given: the box is a cluster; else edges spread out
    bool main = false;                          // on the main road: straight, if it can be
};

struct Level {
    std::vector<LayoutRect> boxes; // width and height in; x and y out
    std::vector<Segment> segments;
    double node_gap = 16, rank_gap = 24;

    // Out, in the level's own coordinates: the content's top left corner is (0, 0).
    std::vector<std::vector<Point>> bends; // per segment, from top to bottom, without its ends
    std::vector<double> from_x, to_x;      // where a segment meets its two ends
    std::vector<double> gap_y;             // lower end of the rank a segment starts in: below it no box stands
    double width = 0, height = 0;

    void arrange();
};

} // namespace fusescope::layered
