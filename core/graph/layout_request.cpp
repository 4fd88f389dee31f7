// SPDX-License-Identifier: Apache-2.0
#include "core/graph/hash.h"
#include "core/graph/layout.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fusescope {
namespace {

// Sizes in pixels at zoom 1: the only place that knows how large text is. Generous, so that any usual sans serif fits.
constexpr double kTitleChar = 8.0;    // 13 px, semi-bold
constexpr double kSubtitleChar = 6.5; // 11 px
constexpr double kLabelChar = 6.0;    // 10 px
constexpr double kPadding = 24.0;     // left and right together
constexpr double kGrid = 8.0;
constexpr double kMinWidth = 72.0;
constexpr double kOneLine = 32.0, kTwoLines = 40.0, kThreeLines = 56.0;
constexpr double kLabelHeight = 16.0;
constexpr std::size_t kMaxChars = 60; // a longer text is cut when it is drawn

// Characters, not bytes.
double length(std::string_view text) {
    const auto count = std::count_if(text.begin(), text.end(),
                                     [](char c) { return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u; });
    return static_cast<double>(std::min<std::size_t>(static_cast<std::size_t>(count), kMaxChars));
}

double onGrid(double size) { return std::ceil(size / kGrid) * kGrid; }

// " 36 ×" beside the title
double badgeWidth(std::uint32_t repeat) {
    return repeat > 1 ? kTitleChar * (3.0 + static_cast<double>(std::to_string(repeat).size())) : 0.0;
}

} // namespace

LayoutRequest layoutRequest(const VisibleGraph& graph) {
    LayoutRequest request;
    request.boxes.reserve(graph.nodes.size());
    for (const VisibleNode& node : graph.nodes) {
        const double title = length(node.title) * kTitleChar + badgeWidth(node.repeat);
        const double subtitle = length(node.subtitle) * kSubtitleChar;
        LayoutBox box;
        box.width = onGrid(std::max(kMinWidth, std::max(title, subtitle) + kPadding));
        box.height = node.subtitle.empty() ? kOneLine : kTwoLines;
        if (node.kind == VisibleKind::Module) box.height = kThreeLines; // room for what was measured
        box.cluster = node.cluster;
        request.boxes.push_back(box);
    }
    for (const VisibleCluster& cluster : graph.clusters) {
        request.cluster_parents.push_back(cluster.parent);
        request.cluster_widths.push_back(
            onGrid(length(cluster.title) * kTitleChar + badgeWidth(cluster.repeat) + kPadding));
    }
    request.edges.reserve(graph.edges.size());
    for (const VisibleEdge& edge : graph.edges) {
        LayoutRequest::Edge line;
        line.from = edge.from;
        line.to = edge.to;
        if (!edge.label.empty()) {
            line.label_width = length(edge.label) * kLabelChar + kGrid;
            line.label_height = kLabelHeight;
        }
        request.edges.push_back(line);
    }
    return request;
}

std::string hashOf(const LayoutRequest& request) {
    Hash128 hash;
    const auto number = [&](double d) { hash.add(std::bit_cast<std::uint64_t>(d)); };
    hash.add(std::string_view("fusescope layout 1")); // of the layout engine: another number makes stored layouts stale
    hash.add(static_cast<std::uint64_t>(request.boxes.size()));
    for (const LayoutBox& box : request.boxes) {
        number(box.width);
        number(box.height);
        hash.add(static_cast<std::uint64_t>(box.cluster));
    }
    hash.add(static_cast<std::uint64_t>(request.cluster_parents.size()));
    for (const std::int32_t parent : request.cluster_parents) hash.add(static_cast<std::uint64_t>(parent));
    hash.add(static_cast<std::uint64_t>(request.cluster_widths.size()));
    for (const double width : request.cluster_widths) number(width);
    hash.add(static_cast<std::uint64_t>(request.edges.size()));
    for (const LayoutRequest::Edge& edge : request.edges) {
        hash.add((static_cast<std::uint64_t>(edge.from) << 32) | edge.to);
        number(edge.label_width);
        number(edge.label_height);
    }
    for (const double gap : {request.node_gap, request.rank_gap, request.cluster_margin, request.cluster_header})
        number(gap);
    return hash.hex();
}

} // namespace fusescope
