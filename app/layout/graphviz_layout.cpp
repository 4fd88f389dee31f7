// SPDX-License-Identifier: GPL-3.0-or-later
#include "graphviz_layout.h"

#include <graphviz/gvc.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace fusescope {
namespace {

constexpr int kStepsPerCurve = 8;
constexpr double kFlat = 0.25; // pixels a point may lie off the line of its neighbours and still go

Error failure(std::string found) { return {ErrorCode::Internal, "a layout by Graphviz", std::move(found), {}}; }

int printToStderr(char* text) { return std::fputs(text, stderr); }

struct CloseGraph {
    void operator()(Agraph_t* graph) const { agclose(graph); }
};
struct FreeContext {
    void operator()(GVC_t* context) const { gvFreeContext(context); }
};

// The number behind "n12" or "cluster_3"; count if there is none below it.
std::size_t numberIn(const char* name, const char* prefix, std::size_t count) {
    const std::size_t skip = std::strlen(prefix);
    if (!name || std::strncmp(name, prefix, skip) != 0) return count;
    std::size_t number = count;
    const char* end = name + std::strlen(name);
    const auto read = std::from_chars(name + skip, end, number);
    return read.ec == std::errc() && read.ptr == end && number < count ? number : count;
}

class Reader {
public:
    Reader(const LayoutRequest& request, Agraph_t* graph) : request_(request), graph_(graph) {
        const boxf bounds = GD_bb(graph);
        left_ = bounds.LL.x;
        top_ = bounds.UR.y;
        result_.engine = "graphviz";
        result_.width = bounds.UR.x - bounds.LL.x;
        result_.height = bounds.UR.y - bounds.LL.y;
    }

    Result<LayoutResult> run() {
        result_.boxes.resize(request_.boxes.size());
        result_.edges.resize(request_.edges.size());
        result_.clusters.resize(request_.cluster_parents.size());
        for (Agnode_t* node = agfstnode(graph_); node; node = agnxtnode(graph_, node)) {
            readNode(node);
            for (Agedge_t* edge = agfstout(graph_, node); edge; edge = agnxtout(graph_, edge)) readEdge(edge);
        }
        readClusters();
        for (const LayoutResult::Edge& edge : result_.edges)
            if (edge.path.size() < 2) return failure("an edge without a path");
        return std::move(result_);
    }

private:
    [[nodiscard]] Point flipped(pointf p) const { return {p.x - left_, top_ - p.y}; } // Graphviz counts upwards

    void readNode(Agnode_t* node) {
        const std::size_t i = numberIn(agnameof(node), "n", request_.boxes.size());
        if (i == request_.boxes.size()) return;
        const Point middle = flipped(ND_coord(node));
        const LayoutBox& box = request_.boxes[i];
        result_.boxes[i] = {middle.x - box.width / 2, middle.y - box.height / 2, box.width, box.height};
    }

    void readEdge(Agedge_t* edge) {
        char id[] = "id";
        const std::size_t i = numberIn(agget(edge, id), "", request_.edges.size());
        if (i == request_.edges.size()) return;
        LayoutResult::Edge& out = result_.edges[i];
        if (const splines* curves = ED_spl(edge)) {
            for (std::size_t k = 0; k < static_cast<std::size_t>(curves->size); ++k)
                readCurve(curves->list[k], out.path);
            simplify(out.path);
        }
        const textlabel_t* label = ED_label(edge);
        if (label && label->set) {
            out.label = flipped(label->pos);
            result_.width =
                std::max(result_.width, out.label.x + request_.edges[i].label_width / 2); // Graphviz forgets them
        } else if (!out.path.empty())
            out.label = out.path[out.path.size() / 2];
    }

    void readCurve(const bezier& curve, std::vector<Point>& path) const {
        if (curve.size < 1) return;
        if (curve.sflag) path.push_back(flipped(curve.sp));
        path.push_back(flipped(curve.list[0]));
        for (std::size_t k = 0; k + 3 < static_cast<std::size_t>(curve.size); k += 3) {
            const Point a = flipped(curve.list[k]), b = flipped(curve.list[k + 1]), c = flipped(curve.list[k + 2]),
                        d = flipped(curve.list[k + 3]);
            for (int step = 1; step <= kStepsPerCurve; ++step) {
                const double t = static_cast<double>(step) / kStepsPerCurve, u = 1 - t;
                const double wa = u * u * u, wb = 3 * u * u * t, wc = 3 * u * t * t, wd = t * t * t;
                path.push_back({wa * a.x + wb * b.x + wc * c.x + wd * d.x, wa * a.y + wb * b.y + wc * c.y + wd * d.y});
            }
        }
        if (curve.eflag) path.push_back(flipped(curve.ep)); // the arrow's tip
    }

    // Straight stretches need their ends only.
    static void simplify(std::vector<Point>& path) {
        std::vector<Point> kept;
        for (std::size_t i = 0; i < path.size(); ++i) {
            if (!kept.empty() && i + 1 < path.size()) {
                const Point &a = kept.back(), &b = path[i], &c = path[i + 1];
                const double length = std::hypot(c.x - a.x, c.y - a.y);
                const double area = std::fabs((b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x));
                if (area <= kFlat * length) continue;
            }
            kept.push_back(path[i]);
        }
        path = std::move(kept);
    }

    void readClusters() {
        std::vector<Agraph_t*> open{graph_};
        while (!open.empty()) {
            Agraph_t* graph = open.back();
            open.pop_back();
            for (int k = 1; k <= GD_n_cluster(graph); ++k) open.push_back(GD_clust(graph)[k]);
            const std::size_t i = numberIn(agnameof(graph), "cluster_", request_.cluster_parents.size());
            if (i == request_.cluster_parents.size()) continue;
            const boxf bounds = GD_bb(graph);
            const Point corner = flipped({bounds.LL.x, bounds.UR.y});
            result_.clusters[i] = {corner.x, corner.y, bounds.UR.x - bounds.LL.x, bounds.UR.y - bounds.LL.y};
        }
    }

    const LayoutRequest& request_;
    Agraph_t* graph_;
    double left_ = 0, top_ = 0;
    LayoutResult result_;
};

} // namespace

Result<LayoutResult> graphvizLayout(const LayoutRequest& request) {
    agseterrf(printToStderr);
    const std::unique_ptr<GVC_t, FreeContext> context(gvContext());
    if (!context) return failure("no context");
    const std::string text = dotText(request);
    const std::unique_ptr<Agraph_t, CloseGraph> graph(agmemread(text.c_str()));
    if (!graph) return failure("a graph it does not read");
    if (gvLayout(context.get(), graph.get(), "dot") != 0) return failure("none");
    Result<LayoutResult> result = Reader(request, graph.get()).run();
    gvFreeLayout(context.get(), graph.get());
    return result;
}

} // namespace fusescope
