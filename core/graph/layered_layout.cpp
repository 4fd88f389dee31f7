// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layered_level.h"
#include "core/graph/layout.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusescope {
namespace {

using layered::Level;
using layered::Segment;

constexpr double kMaxSide = 1e6; // sizes may come from another process

double sane(double size, double least) { return std::isfinite(size) ? std::clamp(size, least, kMaxSide) : least; }

// An edge within one container: the container, and the segment's place in its level.
struct Piece {
    std::size_t container = 0, segment = 0;
};

// Containers are the clusters, and the whole picture as the last one. Elements are boxes, then clusters.
class Layout {
public:
    explicit Layout(const LayoutRequest& request)
        : request_(request), boxes_(request.boxes.size()), clusters_(request.cluster_parents.size()),
          levels_(clusters_ + 1) {}

    LayoutResult run() {
        buildTree();
        cutEdges();
        for (std::size_t c = clusters_; c-- > 0;) arrange(c); // children stand after their parents
        arrange(clusters_);
        place();
        return std::move(result_);
    }

private:
    [[nodiscard]] std::size_t containerOf(std::size_t element) const {
        if (element >= boxes_) {
            const std::size_t c = element - boxes_;
            const std::int32_t parent = request_.cluster_parents[c];
            return parent >= 0 && static_cast<std::size_t>(parent) < c ? static_cast<std::size_t>(parent) : clusters_;
        }
        const std::int32_t cluster = request_.boxes[element].cluster;
        return cluster >= 0 && static_cast<std::size_t>(cluster) < clusters_ ? static_cast<std::size_t>(cluster)
                                                                             : clusters_;
    }

    void buildTree() {
        const std::size_t elements = boxes_ + clusters_;
        first_box_.assign(elements, std::numeric_limits<std::size_t>::max());
        depth_.assign(clusters_ + 1, 0);
        container_.resize(elements);
        for (std::size_t e = 0; e < elements; ++e) container_[e] = containerOf(e);
        for (std::size_t c = 0; c < clusters_; ++c) depth_[c] = depth_[container_[boxes_ + c]] + 1;
        for (std::size_t b = 0; b < boxes_; ++b) first_box_[b] = b;
        for (std::size_t e = boxes_; e-- > 0;) {
            const std::size_t c = container_[e];
            if (c < clusters_) first_box_[boxes_ + c] = std::min(first_box_[boxes_ + c], e);
        }
        for (std::size_t c = clusters_; c-- > 0;) {
            const std::size_t parent = container_[boxes_ + c];
            if (parent < clusters_)
                first_box_[boxes_ + parent] = std::min(first_box_[boxes_ + parent], first_box_[boxes_ + c]);
        }
        // Within a container elements stand in the order of execution, so that edges point forward.
        members_.resize(clusters_ + 1);
        for (std::size_t e = 0; e < elements; ++e) members_[container_[e]].push_back(e);
        place_of_.resize(elements);
        for (std::size_t c = 0; c <= clusters_; ++c) {
            std::sort(members_[c].begin(), members_[c].end(), [&](std::size_t a, std::size_t b) {
                return std::pair(first_box_[a], a) < std::pair(first_box_[b], b);
            });
            for (std::size_t i = 0; i < members_[c].size(); ++i) place_of_[members_[c][i]] = i;
            levels_[c].boxes.resize(members_[c].size());
        }
    }

    // Of a box's inputs, the one made last: a residual comes from further back.
    [[nodiscard]] std::vector<bool> mainRoad() const {
        std::vector<std::size_t> best(boxes_, request_.edges.size());
        for (std::size_t i = 0; i < request_.edges.size(); ++i) {
            const LayoutRequest::Edge& edge = request_.edges[i];
            if (edge.from >= edge.to || edge.to >= boxes_) continue;
            if (best[edge.to] == request_.edges.size() || request_.edges[best[edge.to]].from < edge.from)
                best[edge.to] = i;
        }
        std::vector<bool> main(request_.edges.size() + 1, false);
        for (const std::size_t edge : best) main[edge] = true;
        return main;
    }

    Piece addSegment(std::size_t container, std::int32_t from, std::int32_t to, bool main) {
        Segment segment;
        segment.main = main;
        segment.from = from;
        segment.to = to;
        levels_[container].segments.push_back(segment);
        return {container, levels_[container].segments.size() - 1};
    }

    // Cuts each edge at the borders of the clusters it crosses.
    void cutEdges() {
        pieces_.resize(request_.edges.size());
        backward_.assign(request_.edges.size(), false);
        const std::vector<bool> main_road = mainRoad();
        double tallest_label = 0;
        for (std::size_t i = 0; i < request_.edges.size(); ++i) {
            const LayoutRequest::Edge& edge = request_.edges[i];
            tallest_label = std::max(tallest_label, sane(edge.label_height, 0));
            if (edge.from >= boxes_ || edge.to >= boxes_ || edge.from == edge.to) continue;
            std::size_t a = edge.from, b = edge.to;
            std::vector<std::size_t> up, down; // elements on the way to the common container
            while (container_[a] != container_[b]) {
                if (depth_[container_[a]] >= depth_[container_[b]]) {
                    up.push_back(a);
                    a = boxes_ + container_[a];
                } else {
                    down.push_back(b);
                    b = boxes_ + container_[b];
                }
            }
            // Against the order (a module that runs twice): laid out the other way round, then turned.
            backward_[i] = place_of_[a] > place_of_[b];
            if (backward_[i]) {
                std::swap(a, b);
                std::swap(up, down);
            }
            const auto at = [&](std::size_t element) { return static_cast<std::int32_t>(place_of_[element]); };
            for (const std::size_t element : up)
                pieces_[i].push_back(addSegment(container_[element], at(element), Segment::kBorder, main_road[i]));
            main_piece_.push_back(pieces_[i].size());
            pieces_[i].push_back(addSegment(container_[a], at(a), at(b), main_road[i]));
            for (std::size_t k = down.size(); k-- > 0;)
                pieces_[i].push_back(addSegment(container_[down[k]], Segment::kBorder, at(down[k]), main_road[i]));
        }
        gap_ = std::max(sane(request_.rank_gap, 1), tallest_label > 0 ? tallest_label + 12 : 0);
        // Where an inner cluster hands an edge on is known once that cluster is laid out: arrange() fills the offsets.
        for (std::size_t i = 0; i < pieces_.size(); ++i)
            for (std::size_t k = 0; k + 1 < pieces_[i].size(); ++k)
                joints_.push_back({pieces_[i][k], pieces_[i][k + 1]});
        joints_of_.resize(clusters_);
        for (std::size_t j = 0; j < joints_.size(); ++j) {
            const auto& [upper, lower] = joints_[j];
            const bool leaving = levels_[upper.container].segments[upper.segment].to == Segment::kBorder;
            joints_of_[leaving ? upper.container : lower.container].push_back(j);
        }
    }

    void arrange(std::size_t c) {
        Level& level = levels_[c];
        level.node_gap = sane(request_.node_gap, 1);
        level.rank_gap = gap_;
        for (std::size_t i = 0; i < members_[c].size(); ++i) {
            const std::size_t element = members_[c][i];
            LayoutRect& box = level.boxes[i];
            if (element < boxes_) {
                box.width = sane(request_.boxes[element].width, 1);
                box.height = sane(request_.boxes[element].height, 1);
            } else {
                const std::size_t inner = element - boxes_;
                box.width = outerWidth(inner);
                box.height =
                    levels_[inner].height + sane(request_.cluster_header, 0) + sane(request_.cluster_margin, 0);
            }
        }
        level.arrange();
        if (c == clusters_) return;
        for (const std::size_t j : joints_of_[c]) {
            const auto& [upper, lower] = joints_[j];
            const double middle = outerWidth(c) / 2 - inset(c);
            if (upper.container == c) {
                Segment& outside = levels_[lower.container].segments[lower.segment];
                outside.from_offset = level.to_x[upper.segment] - middle;
                outside.from_fixed = true;
            } else {
                Segment& outside = levels_[upper.container].segments[upper.segment];
                outside.to_offset = level.from_x[lower.segment] - middle;
                outside.to_fixed = true;
            }
        }
    }

    [[nodiscard]] double outerWidth(std::size_t c) const {
        const double content = levels_[c].width + 2 * sane(request_.cluster_margin, 0);
        return c < request_.cluster_widths.size() ? std::max(content, sane(request_.cluster_widths[c], 0)) : content;
    }
    [[nodiscard]] double inset(std::size_t c) const { return (outerWidth(c) - levels_[c].width) / 2; }

    void place() {
        result_.engine = "layered";
        result_.boxes.resize(boxes_);
        result_.clusters.resize(clusters_);
        std::vector<Point> origin(clusters_ + 1); // of each container's content
        const auto put = [&](std::size_t c) {
            for (std::size_t i = 0; i < members_[c].size(); ++i) {
                LayoutRect rect = levels_[c].boxes[i];
                rect.x += origin[c].x;
                rect.y += origin[c].y;
                const std::size_t element = members_[c][i];
                if (element < boxes_) {
                    result_.boxes[element] = rect;
                } else {
                    const std::size_t inner = element - boxes_;
                    result_.clusters[inner] = rect;
                    origin[inner] = {rect.x + inset(inner), rect.y + sane(request_.cluster_header, 0)};
                }
            }
        };
        put(clusters_);
        for (std::size_t c = 0; c < clusters_; ++c) put(c);
        result_.width = levels_[clusters_].width;
        result_.height = levels_[clusters_].height;

        result_.edges.resize(request_.edges.size());
        std::size_t routed = 0;
        for (std::size_t i = 0; i < request_.edges.size(); ++i) {
            if (pieces_[i].empty())
                loop(i);
            else
                route(i, main_piece_[routed++], origin);
            const double half = sane(request_.edges[i].label_width, 0) / 2;
            result_.width = std::max(result_.width, result_.edges[i].label.x + half);
        }
    }

    void route(std::size_t i, std::size_t main, const std::vector<Point>& origin) {
        LayoutResult::Edge& out = result_.edges[i];
        const std::size_t from = backward_[i] ? request_.edges[i].to : request_.edges[i].from;
        const std::size_t to = backward_[i] ? request_.edges[i].from : request_.edges[i].to;
        const LayoutRect &start = result_.boxes[from], &end = result_.boxes[to];
        const auto absolute = [&](const Piece& piece, const std::vector<double>& x) {
            return x[piece.segment] + origin[piece.container].x;
        };
        out.path.push_back(
            {absolute(pieces_[i].front(), levels_[pieces_[i].front().container].from_x), start.y + start.height});
        Point label_from = out.path.back();
        std::size_t label_at = 0; // the point before the gap with the label
        for (std::size_t k = 0; k < pieces_[i].size(); ++k) {
            const Piece& piece = pieces_[i][k];
            const Level& level = levels_[piece.container];
            const Point& zero = origin[piece.container];
            if (k == main) {
                label_at = out.path.size() - 1;
                label_from = {out.path.back().x, level.gap_y[piece.segment] + zero.y};
            }
            for (const Point& bend : level.bends[piece.segment]) out.path.push_back({bend.x + zero.x, bend.y + zero.y});
            const Segment& segment = level.segments[piece.segment];
            const double bottom = piece.container < clusters_
                                      ? result_.clusters[piece.container].y + result_.clusters[piece.container].height
                                      : 0;
            if (segment.to == Segment::kBorder)
                out.path.push_back({level.to_x[piece.segment] + zero.x, bottom});
            else if (k + 1 < pieces_[i].size()) {
                const std::size_t inner = pieces_[i][k + 1].container;
                out.path.push_back({level.to_x[piece.segment] + zero.x, result_.clusters[inner].y});
            }
        }
        out.path.push_back({absolute(pieces_[i].back(), levels_[pieces_[i].back().container].to_x), end.y});
        // In the first gap below its source: no box stands there.
        const double middle = (out.path[label_at].x + out.path[label_at + 1].x) / 2;
        out.label = {middle + sane(request_.edges[i].label_width, 0) / 2 + 4, label_from.y + gap_ / 2};
        if (backward_[i]) std::reverse(out.path.begin(), out.path.end());
    }

    // From a box to itself, or of a box that is not there.
    void loop(std::size_t i) {
        LayoutResult::Edge& out = result_.edges[i];
        const std::size_t b = request_.edges[i].from;
        if (b >= boxes_) {
            out.path = {{0, 0}, {0, 0}};
            return;
        }
        const LayoutRect& box = result_.boxes[b];
        const double right = box.x + box.width, middle = box.y + box.height / 2, reach = sane(request_.node_gap, 1) / 2;
        out.path = {{right, middle - 4}, {right + reach, middle - 4}, {right + reach, middle + 4}, {right, middle + 4}};
        out.label = {right + reach, middle};
    }

    const LayoutRequest& request_;
    std::size_t boxes_, clusters_;
    std::vector<Level> levels_;
    std::vector<std::size_t> first_box_, container_, depth_, place_of_;
    std::vector<std::vector<std::size_t>> members_;
    std::vector<std::vector<Piece>> pieces_; // per edge, from top to bottom
    std::vector<bool> backward_;
    std::vector<std::size_t> main_piece_; // which piece lies in the common container, per edge that has pieces
    std::vector<std::pair<Piece, Piece>> joints_;
    std::vector<std::vector<std::size_t>> joints_of_; // per cluster: where its edges leave or enter
    double gap_ = 24;
    LayoutResult result_;
};

} // namespace

LayoutResult layeredLayout(const LayoutRequest& request) { return Layout(request).run(); }

} // namespace fusescope
