// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layout.h"

#include <array>
#include <charconv>
#include <cmath>

namespace fusescope {
namespace {

constexpr double kPointsPerInch = 72.0; // one pixel of ours is one point of Graphviz

class Dot {
public:
    Dot(const LayoutRequest& request, const VisibleGraph* labels) : request_(request), labels_(labels) {
        children_.resize(request.cluster_parents.size());
        for (std::size_t c = 0; c < request.cluster_parents.size(); ++c) {
            const std::int32_t parent = request.cluster_parents[c];
            if (parent >= 0 && static_cast<std::size_t>(parent) < c)
                children_[static_cast<std::size_t>(parent)].push_back(c);
            else
                top_.push_back(c);
        }
        boxes_.resize(request.cluster_parents.size());
        for (std::size_t b = 0; b < request.boxes.size(); ++b) {
            const std::int32_t cluster = request.boxes[b].cluster;
            if (cluster >= 0 && static_cast<std::size_t>(cluster) < boxes_.size())
                boxes_[static_cast<std::size_t>(cluster)].push_back(b);
        }
    }

    // The main road is drawn straight: of a box's inputs, the one made last. A residual comes from further back, the
    // mask and the rotary tables were made before the layer.
    void findMainRoad() {
        constexpr std::size_t kNone = static_cast<std::size_t>(-1);
        main_input_.assign(request_.boxes.size(), kNone);
        for (std::size_t e = 0; e < request_.edges.size(); ++e) {
            const LayoutRequest::Edge& edge = request_.edges[e];
            if (edge.from >= edge.to || edge.to >= request_.boxes.size()) continue;
            std::size_t& best = main_input_[edge.to];
            if (best == kNone || request_.edges[best].from < edge.from) best = e;
        }
    }

    std::string text() {
        findMainRoad();
        out_ = "digraph model {\n";
        out_ += "  graph [rankdir=TB, splines=true, nodesep=";
        inches(request_.node_gap);
        out_ += ", ranksep=";
        inches(request_.rank_gap);
        out_ += ", pad=0];\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=12";
        if (!labels_) out_ += ", fixedsize=true, label=\"\"";
        out_ += "];\n  edge [arrowsize=0.7, fontname=\"sans-serif\", fontsize=10];\n";
        clusters();
        for (std::size_t b = 0; b < request_.boxes.size(); ++b) {
            const std::int32_t cluster = request_.boxes[b].cluster;
            if (cluster < 0 || static_cast<std::size_t>(cluster) >= boxes_.size()) box(b);
        }
        for (std::size_t e = 0; e < request_.edges.size(); ++e) edge(e);
        return std::move(out_ += "}\n");
    }

private:
    // Depth first without recursion: the nesting comes from a file.
    void clusters() {
        struct Open {
            std::size_t cluster, next;
        };
        std::vector<Open> stack;
        const auto open = [&](std::size_t c) {
            out_.append("  subgraph cluster_").append(std::to_string(c)).append(" {\n    margin=");
            number(request_.cluster_margin);
            out_ += "; style=rounded; labeljust=l; label=";
            if (labels_ && c < labels_->clusters.size()) {
                const VisibleCluster& cluster = labels_->clusters[c];
                quoted(cluster.title + (cluster.repeat > 1 ? "  × " + std::to_string(cluster.repeat) : ""));
            } else {
                const double width = c < request_.cluster_widths.size() ? request_.cluster_widths[c] : 1.0;
                spacer(width, request_.cluster_header);
            }
            out_ += ";\n";
            for (const std::size_t b : boxes_[c]) box(b);
            stack.push_back({c, 0});
        };
        for (const std::size_t c : top_) {
            open(c);
            while (!stack.empty()) {
                Open& level = stack.back();
                if (level.next < children_[level.cluster].size()) {
                    open(children_[level.cluster][level.next++]);
                } else {
                    out_ += "  }\n";
                    stack.pop_back();
                }
            }
        }
    }

    void box(std::size_t b) {
        out_.append("    n").append(std::to_string(b)).append(" [width=");
        inches(request_.boxes[b].width);
        out_ += ", height=";
        inches(request_.boxes[b].height);
        if (labels_ && b < labels_->nodes.size()) {
            const VisibleNode& node = labels_->nodes[b];
            out_ += ", label=";
            quoted(node.title + (node.repeat > 1 ? "  × " + std::to_string(node.repeat) : "") +
                   (node.subtitle.empty() ? "" : "\n" + node.subtitle));
        }
        out_ += "];\n";
    }

    void edge(std::size_t e) {
        const LayoutRequest::Edge& edge = request_.edges[e];
        if (edge.from >= request_.boxes.size() || edge.to >= request_.boxes.size()) return;
        out_.append("  n").append(std::to_string(edge.from)).append(" -> n").append(std::to_string(edge.to));
        out_.append(" [id=").append(std::to_string(e)); // how a layout finds its way back to the request
        if (main_input_[edge.to] == e) out_ += ", weight=40";
        if (labels_ && e < labels_->edges.size()) {
            out_ += ", label=";
            quoted(labels_->edges[e].label);
        } else if (edge.label_width > 0 && edge.label_height > 0) {
            out_ += ", label=";
            spacer(edge.label_width, edge.label_height);
        }
        out_ += "];\n";
    }

    // An empty table is a label of a known size without asking for a font.
    void spacer(double width, double height) {
        out_.append(
            "<<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLPADDING=\"0\" CELLSPACING=\"0\" FIXEDSIZE=\"TRUE\" WIDTH=\"");
        out_.append(std::to_string(std::lround(std::ceil(width)))).append("\" HEIGHT=\"");
        out_.append(std::to_string(std::lround(std::ceil(height)))).append("\"><TR><TD></TD></TR></TABLE>>");
    }

    void inches(double pixels) { number(pixels / kPointsPerInch); }

    void number(double value) { // to_chars: the decimal point whatever the locale
        std::array<char, 32> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::isfinite(value) ? value : 0.0,
                                       std::chars_format::fixed, 4);
        if (end.ec == std::errc())
            out_.append(buffer.data(), end.ptr);
        else
            out_ += '0';
    }

    void quoted(std::string_view text) {
        out_ += '"';
        for (const char c : text) {
            if (c == '"' || c == '\\') out_ += '\\';
            if (c == '\n')
                out_ += "\\n";
            else if (static_cast<unsigned char>(c) >= 0x20)
                out_ += c;
        }
        out_ += '"';
    }

    const LayoutRequest& request_;
    const VisibleGraph* labels_;
    std::vector<std::vector<std::size_t>> children_, boxes_;
    std::vector<std::size_t> top_, main_input_;
    std::string out_;
};

} // namespace

std::string dotText(const LayoutRequest& request, const VisibleGraph* labels) { return Dot(request, labels).text(); }

} // namespace fusescope
