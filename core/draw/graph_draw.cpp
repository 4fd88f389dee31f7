// SPDX-License-Identifier: Apache-2.0
#include "core/draw/graph_draw.h"

#include "core/draw/graph_parts.h"

#include <algorithm>
#include <numeric>

namespace fusescope {
namespace {

using namespace graphdraw;

int depthOf(const VisibleGraph& graph, std::int32_t cluster) noexcept {
    int depth = 0;
    for (const int most = static_cast<int>(graph.clusters.size()); cluster >= 0 && cluster < most && depth <= most;
         ++depth)
        cluster = graph.clusters[static_cast<std::size_t>(cluster)].parent;
    return depth;
}

void drawEdge(const VisibleEdge& edge, const LayoutResult::Edge& place, const Facts& facts, Places& places,
              DrawList& list) {
    if (place.path.size() < 2) return;
    DrawLine line;
    for (const Point& p : place.path) line.points.emplace_back(p.x, p.y);
    line.stroke = ColourRole::TextMuted;
    line.width = 1;
    line.arrow = true;
    line.smooth = place.path.size() > 2;
    const bool known = edge.from < facts.boxes.size() && edge.to < facts.boxes.size();
    const Emphasis from = known ? facts.boxes[edge.from].emphasis : Emphasis::Normal;
    const Emphasis to = known ? facts.boxes[edge.to].emphasis : Emphasis::Normal;
    line.emphasis = from == Emphasis::Selected && to == Emphasis::Selected ? Emphasis::Selected
                    : from == Emphasis::Normal                             ? Emphasis::Normal
                    : from == Emphasis::Dimmed && to == Emphasis::Dimmed   ? Emphasis::Dimmed
                                                                           : Emphasis::Normal;
    const Emphasis label_emphasis = line.emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
    list.lines.push_back(std::move(line));
    drawEdgeLabel(edge.label, place, label_emphasis, places, list);
}

} // namespace

DrawList drawGraph(const Analysis& analysis, const VisibleGraph& graph, const LayoutResult& layout,
                   const SelectionSets& selection, std::span<const TimelineFused> fused,
                   const std::vector<std::uint32_t>* marked) {
    DrawList list;
    list.width = layout.width;
    list.height = layout.height;
    if (!analysis.graph) return list;
    const Facts facts = graphFacts(analysis, graph, selection, fused, marked);

    std::vector<std::size_t> order(std::min(graph.clusters.size(), layout.clusters.size()));
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return depthOf(graph, static_cast<std::int32_t>(a)) < depthOf(graph, static_cast<std::int32_t>(b));
    });
    for (const std::size_t i : order)
        drawCluster(analysis, graph.clusters[i], layout.clusters[i], facts.clusters[i], list);
    for (std::size_t i = 0; i < std::min(graph.nodes.size(), layout.boxes.size()); ++i)
        drawBox(analysis, graph.nodes[i], layout.boxes[i], facts.boxes[i], list);
    Places places(layout, graph);
    drawFusedGroups(analysis, graph, layout, selection, facts, places, list);
    for (std::size_t i = 0; i < std::min(graph.nodes.size(), layout.boxes.size()); ++i)
        drawBadge(analysis, i, layout.boxes[i], facts.boxes[i], places, list);
    for (std::size_t i = 0; i < std::min(graph.edges.size(), layout.edges.size()); ++i)
        drawEdge(graph.edges[i], layout.edges[i], facts, places, list);

    // Cards of folds and badges reach a little over their boxes: the picture grows so that nothing is cut off.
    double right = list.width, bottom = list.height;
    for (const DrawRect& r : list.rects) {
        right = std::max(right, r.x + r.width + 4);
        bottom = std::max(bottom, r.y + r.height + 4);
    }
    list.width = right;
    list.height = bottom;
    return list;
}

} // namespace fusescope
