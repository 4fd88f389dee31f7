// SPDX-License-Identifier: Apache-2.0
// How large the boxes must be for what drawGraph() writes into them. layoutRequest() counts characters; here the text's
// own width decides, and there is room for the measured figures.
#include "core/draw/graph_parts.h"
#include "core/draw/text_fit.h"

#include <algorithm>
#include <cmath>

namespace fusescope {
namespace {

constexpr double kGrid = 8, kPadding = 24;
constexpr double kLeastOp = 72, kLeastModule = 112; // "17.5 ms · 19.9%"
constexpr double kMostText = 480;                   // longer ones are elided
// Half of a gap between two rows; a label stands between the halves, and a badge reaches 12 px up from its box.
constexpr double kHalfGap = 14;

double onGrid(double size) { return std::ceil(size / kGrid) * kGrid; }

} // namespace

LayoutRequest drawnLayoutRequest(const VisibleGraph& graph) {
    using namespace graphdraw;
    LayoutRequest request = layoutRequest(graph);
    for (std::size_t i = 0; i < std::min(request.boxes.size(), graph.nodes.size()); ++i) {
        const VisibleNode& node = graph.nodes[i];
        const bool module = node.kind == VisibleKind::Module;
        const double title = textWidth(node.title, {module ? kTitleSize : kOpSize, module});
        const double text = std::min(kMostText, std::max(title, textWidth(node.subtitle, {kSmallSize})));
        request.boxes[i].width = onGrid(std::max(module ? kLeastModule : kLeastOp, text + kPadding));
    }
    for (std::size_t i = 0; i < std::min(request.cluster_widths.size(), graph.clusters.size()); ++i) {
        const VisibleCluster& cluster = graph.clusters[i];
        const std::string figures = cluster.repeat > 1 ? "88.8 ms in 36" : "88.8 ms"; // more where there is room
        const double title = std::min(kMostText, textWidth(clusterTitle(cluster), {kHeaderSize, true}));
        // The estimate is wide and a title may be cut: a tenth less keeps the picture narrow.
        request.cluster_widths[i] = onGrid(0.9 * (title + textWidth(figures, {kSmallSize}) + 16) + kPadding);
    }
    for (std::size_t i = 0; i < std::min(request.edges.size(), graph.edges.size()); ++i)
        if (!graph.edges[i].label.empty())
            request.edges[i].label_width = textWidth(graph.edges[i].label, {kLabelSize}) + kGrid;
    request.rank_gap = kHalfGap;
    return request;
}

} // namespace fusescope
