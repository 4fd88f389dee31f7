// SPDX-License-Identifier: Apache-2.0
// What the files of the graph picture share; not for other parts.
#pragma once

#include "core/draw/graph_draw.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fusescope::graphdraw {

// Edges lie in layer 0: over the frames of clusters, under their headers and the boxes.
constexpr std::int8_t kClusterLayer = -2, kBoxLayer = 1, kTextLayer = 2, kBadgeLayer = 3;
// Sizes of text, pixels at zoom 1.
constexpr double kTitleSize = 13, kOpSize = 12, kHeaderSize = 12, kSmallSize = 11, kBadgeSize = 10, kLabelSize = 10;
constexpr double kHeaderHeight = 24;

struct BoxFacts {
    double time_ns = 0, share = 0, flops = 0; // all members of a fold together
    bool timed = false;                       // time_ns is known
    std::vector<std::uint32_t> findings;      // marked ones that have an instance here, no pattern twice
    std::vector<std::uint32_t> badges; // those of them whose badge stands here (an instance of many boxes has one)
    Pick flag;                         // what a click on the badge selects
    std::optional<FusedSpeed> fused;   // a measured instance is here, and nothing more to be fused
    Emphasis emphasis = Emphasis::Normal;
};
struct Facts {
    std::vector<BoxFacts> boxes, clusters; // parallel to the visible graph
    std::vector<FusedGroup> groups;
};

[[nodiscard]] Facts graphFacts(const Analysis& analysis, const VisibleGraph& graph, const SelectionSets& selection,
                               std::span<const TimelineFused> fused,
                               const std::vector<std::uint32_t>* marked); // as of drawGraph()
// "1.23 ms · 4.5%", of a fold "48.1 ms in 2 layers · 54.9%"; without a trace "137 GFLOP"; "" when nothing is known.
[[nodiscard]] std::string measuredText(const BoxFacts& facts, std::uint32_t repeat, bool layers);
[[nodiscard]] ColourRole strokeOf(ColourRole block) noexcept;
// "layers 0–1 ×2  Qwen3DecoderLayer": how often stands before the class, which may be cut.
[[nodiscard]] std::string clusterTitle(const VisibleCluster& cluster);

// Finds room for badges and labels among boxes, headers, borders and edges.
class Places {
public:
    static constexpr std::size_t kNoBox = static_cast<std::size_t>(-1);
    Places(const LayoutResult& layout, const VisibleGraph& graph);
    // The best of the wanted places, taken from now on; none if all cost at least so much.
    std::optional<LayoutRect> take(const std::vector<LayoutRect>& wanted, std::size_t own_box, double most);

private:
    [[nodiscard]] double cost(const LayoutRect& r, std::size_t own_box) const;
    const LayoutResult& layout_;
    std::vector<LayoutRect> boxes_, headers_, frames_, taken_, bounds_; // bounds: of the edges
};

void drawBox(const Analysis& analysis, const VisibleNode& node, const LayoutRect& place, const BoxFacts& facts,
             DrawList& list);
void drawCluster(const Analysis& analysis, const VisibleCluster& cluster, const LayoutRect& place,
                 const BoxFacts& facts, DrawList& list);
// A pill with its left upper corner at (x, y); returns its width.
double pill(DrawList& list, double x, double y, const std::string& text, ColourRole fill, Pick pick, Emphasis emphasis);
void drawBadge(const Analysis& analysis, std::size_t box, const LayoutRect& place, const BoxFacts& facts,
               Places& places, DrawList& list);
// Outlines of measured groups, and what they take; where several share a box, what is selected is named.
void drawFusedGroups(const Analysis& analysis, const VisibleGraph& graph, const LayoutResult& layout,
                     const SelectionSets& selection, const Facts& facts, Places& places, DrawList& list);
void drawEdgeLabel(const std::string& label, const LayoutResult::Edge& edge, Emphasis emphasis, Places& places,
                   DrawList& list);

} // namespace fusescope::graphdraw
