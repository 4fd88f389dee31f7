// SPDX-License-Identifier: Apache-2.0
// Layout of a visible graph: boxes with given sizes in, positions and edge paths out. Units: pixels at zoom 1, y down.
#pragma once

#include "core/graph/visible_graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusescope {

struct LayoutBox {
    double width = 0, height = 0;
    std::int32_t cluster = -1;
};
struct LayoutRequest {
    std::vector<LayoutBox> boxes;              // one per visible node
    std::vector<std::int32_t> cluster_parents; // one per cluster; a parent stands before its children; -1: none
    std::vector<double> cluster_widths;        // at least so wide, for the title; empty or one per cluster
    struct Edge {
        std::uint32_t from = 0, to = 0;
        double label_width = 0, label_height = 0;
    };
    std::vector<Edge> edges;
    double node_gap = 16, rank_gap = 24, cluster_margin = 12, cluster_header = 24;
};
struct Point {
    double x = 0, y = 0;
};
struct LayoutRect {
    double x = 0, y = 0, width = 0, height = 0;
}; // top left corner
struct LayoutResult {
    std::vector<LayoutRect> boxes, clusters;
    struct Edge {
        std::vector<Point> path;
        Point label;
    }; // path: polyline
    std::vector<Edge> edges;
    double width = 0, height = 0;
    std::string engine; // "graphviz" or "layered" (the fallback)
};

// Sizes from character counts (no font metrics needed): the same for window and report.
[[nodiscard]] LayoutRequest layoutRequest(const VisibleGraph& graph);
// Own layered layout, O(V + E) per sweep, never fails: the fallback when fusescope-layout is absent, slow or dead.
[[nodiscard]] LayoutResult layeredLayout(const LayoutRequest& request);
[[nodiscard]] std::string hashOf(const LayoutRequest& request); // cache key
// Graphviz's DOT text of a request (used by fusescope-layout, and for "export DOT").
[[nodiscard]] std::string dotText(const LayoutRequest& request, const VisibleGraph* labels = nullptr);

} // namespace fusescope
