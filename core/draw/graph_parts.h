// SPDX-License-Identifier: Apache-2.0
// What the files of the graph picture share; not for other parts.
#pragma once

#include "core/draw/graph_draw.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusescope::graphdraw {

constexpr std::int8_t kClusterLayer = -2, kBoxLayer = 1, kTextLayer = 2, kBadgeLayer = 3; // edges: 0

struct BoxFacts {
    double time_ns = 0, share = 0, flops = 0; // all members of a fold together
    bool timed = false;                       // time_ns is known
    std::vector<std::uint32_t> findings;      // marked ones that have an instance here, no pattern twice
    std::vector<std::uint32_t> badges; // those of them whose badge stands here (an instance of many boxes has one)
    Pick flag;                         // what a click on the badge selects
    Emphasis emphasis = Emphasis::Normal;
};
struct Facts {
    std::vector<BoxFacts> boxes, clusters;
}; // parallel to the visible graph

[[nodiscard]] Facts graphFacts(const Analysis& analysis, const VisibleGraph& graph, const SelectionSets& selection);
// "1.23 ms · 4.5%"; without a trace "137 GFLOP"; "" when nothing is known.
[[nodiscard]] std::string measuredText(const BoxFacts& facts);
[[nodiscard]] ColourRole strokeOf(ColourRole block) noexcept;

void drawBox(const Analysis& analysis, const VisibleNode& node, const LayoutRect& place, const BoxFacts& facts,
             DrawList& list);
void drawCluster(const Analysis& analysis, const VisibleCluster& cluster, const LayoutRect& place,
                 const BoxFacts& facts, DrawList& list);

} // namespace fusescope::graphdraw
