// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layered_level.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace fusescope::layered {
namespace {

constexpr int kOrderSweeps = 6, kPlaceSweeps = 8;
constexpr std::size_t kMaxBends = 200000; // beyond: long edges are straight lines

struct Item { // a box, or the place where an edge passes a rank
    std::int32_t box = -1;
    std::int32_t rank = 0;
    double width = 0, height = 0, x = 0; // x: of the middle
};
struct Link { // between neighbouring ranks
    std::size_t upper = 0, lower = 0;
    double upper_offset = 0, lower_offset = 0;
    double weight = 1;
};

class Arrangement {
public:
    explicit Arrangement(Level& level) : level_(level) {}

    void run() {
        rankBoxes();
        makeItems();
        order();
        place();
        write();
    }

private:
    void rankBoxes() {
        const std::size_t count = level_.boxes.size();
        rank_.assign(count, 0);
        std::vector<std::vector<std::size_t>> below(count);
        std::vector<bool> has_input(count, false);
        for (const Segment& s : level_.segments) {
            if (s.to >= 0) has_input[static_cast<std::size_t>(s.to)] = true;
            if (s.from >= 0 && s.to >= 0)
                below[static_cast<std::size_t>(s.from)].push_back(static_cast<std::size_t>(s.to));
        }
        // Segments point to later boxes, so one walk in order finds the longest ways.
        for (std::size_t b = 0; b < count; ++b)
            for (const std::size_t next : below[b]) rank_[next] = std::max(rank_[next], rank_[b] + 1);
        // A box without inputs moves down to those that need it.
        for (std::size_t b = count; b-- > 0;) {
            if (has_input[b] || below[b].empty()) continue;
            std::int32_t lowest = std::numeric_limits<std::int32_t>::max();
            for (const std::size_t next : below[b]) lowest = std::min(lowest, rank_[next]);
            rank_[b] = std::max(rank_[b], lowest - 1);
        }
        ranks_ = 1;
        for (const std::int32_t r : rank_) ranks_ = std::max(ranks_, static_cast<std::size_t>(r) + 1);
    }

    std::size_t addItem(std::int32_t box, std::int32_t rank, double width, double height) {
        Item item;
        item.box = box;
        item.rank = rank;
        item.width = width;
        item.height = height;
        items_.push_back(item);
        rows_[static_cast<std::size_t>(rank) + 1].push_back(items_.size() - 1);
        return items_.size() - 1;
    }

    // Ranks -1 and ranks_ are the borders; they hold the places where edges come in and go out.
    void makeItems() {
        rows_.resize(ranks_ + 2);
        for (std::size_t b = 0; b < level_.boxes.size(); ++b)
            (void)addItem(static_cast<std::int32_t>(b), rank_[b], level_.boxes[b].width, level_.boxes[b].height);
        std::size_t bends = 0;
        for (const Segment& s : level_.segments)
            bends += static_cast<std::size_t>(std::max(0, toRank(s) - fromRank(s)));
        const bool straight = bends > kMaxBends;
        chains_.resize(level_.segments.size());
        for (std::size_t i = 0; i < level_.segments.size(); ++i) {
            const Segment& s = level_.segments[i];
            std::vector<std::size_t>& chain = chains_[i];
            chain.push_back(s.from >= 0 ? static_cast<std::size_t>(s.from) : addItem(-1, -1, 0, 0));
            if (!straight)
                for (std::int32_t r = fromRank(s) + 1; r < toRank(s); ++r) chain.push_back(addItem(-1, r, 0, 0));
            chain.push_back(s.to >= 0 ? static_cast<std::size_t>(s.to)
                                      : addItem(-1, static_cast<std::int32_t>(ranks_), 0, 0));
            for (std::size_t k = 0; k + 1 < chain.size(); ++k) {
                Link link;
                link.upper = chain[k];
                link.lower = chain[k + 1];
                if (k == 0) link.upper_offset = s.from_offset;
                if (k + 2 == chain.size()) link.lower_offset = s.to_offset;
                // Long edges stay straight.
                const bool bend_above = items_[link.upper].box < 0, bend_below = items_[link.lower].box < 0;
                link.weight = bend_above && bend_below ? 8 : bend_above || bend_below ? 2 : 1;
                if (s.main) link.weight = 16;
                links_.push_back(link);
            }
        }
        above_.resize(items_.size());
        below_.resize(items_.size());
        for (std::size_t l = 0; l < links_.size(); ++l) {
            below_[links_[l].upper].push_back(l);
            above_[links_[l].lower].push_back(l);
        }
    }

    [[nodiscard]] std::int32_t fromRank(const Segment& s) const {
        return s.from >= 0 ? rank_[static_cast<std::size_t>(s.from)] : -1;
    }
    [[nodiscard]] std::int32_t toRank(const Segment& s) const {
        return s.to >= 0 ? rank_[static_cast<std::size_t>(s.to)] : static_cast<std::int32_t>(ranks_);
    }

    // Fewer crossings: each rank sorted by where its neighbours stand, down and up in turn.
    void order() {
        std::vector<double> position(items_.size(), 0), key(items_.size(), 0);
        const auto number = [&](const std::vector<std::size_t>& row) {
            for (std::size_t i = 0; i < row.size(); ++i) position[row[i]] = static_cast<double>(i);
        };
        for (const auto& row : rows_) number(row);
        for (int sweep = 0; sweep < kOrderSweeps; ++sweep) {
            const bool down = sweep % 2 == 0;
            for (std::size_t step = 1; step < rows_.size(); ++step) {
                std::vector<std::size_t>& row = rows_[down ? step : rows_.size() - 1 - step];
                for (const std::size_t item : row) {
                    const std::vector<std::size_t>& near = down ? above_[item] : below_[item];
                    double sum = 0;
                    for (const std::size_t l : near) {
                        const Link& link = links_[l];
                        const std::size_t other = down ? link.upper : link.lower;
                        const double offset = down ? link.upper_offset : link.lower_offset;
                        // Within a wide box, edges further right count as further right.
                        const double width = std::max(1.0, items_[other].width);
                        sum += position[other] + std::clamp(offset / width, -0.49, 0.49);
                    }
                    key[item] = near.empty() ? position[item] : sum / static_cast<double>(near.size());
                }
                std::stable_sort(row.begin(), row.end(), [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
                number(row);
            }
        }
    }

    [[nodiscard]] double gap(std::size_t left, std::size_t right) const {
        // Two lines side by side need less room than two boxes.
        const bool lines = items_[left].box < 0 && items_[right].box < 0;
        return (items_[left].width + items_[right].width) / 2 + level_.node_gap * (lines ? 0.75 : 1.0);
    }

    void place() {
        for (const auto& row : rows_) {
            double x = 0;
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (i > 0) x += gap(row[i - 1], row[i]);
                items_[row[i]].x = x;
            }
        }
        for (int sweep = 0; sweep < kPlaceSweeps; ++sweep) {
            const bool down = sweep % 2 == 0;
            for (std::size_t step = 0; step < rows_.size(); ++step)
                settle(rows_[down ? step : rows_.size() - 1 - step], down, sweep + 2 >= kPlaceSweeps);
        }
    }

    // Puts a row as near as its order allows to where its neighbours want it: least squares with minimal distances,
    // solved exactly by pooling neighbours that push each other.
    void settle(const std::vector<std::size_t>& row, bool down, bool both) {
        struct Pool {
            double sum, weight, first;
            std::size_t count;
        };
        std::vector<Pool> pools;
        std::vector<double> shift(row.size(), 0);
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (i > 0) shift[i] = shift[i - 1] + gap(row[i - 1], row[i]);
            double wish = 0, weight = 0;
            const auto pull = [&](const std::vector<std::size_t>& near, bool upper) {
                for (const std::size_t l : near) {
                    const Link& link = links_[l];
                    const double own = upper ? link.lower_offset : link.upper_offset;
                    const double other =
                        upper ? items_[link.upper].x + link.upper_offset : items_[link.lower].x + link.lower_offset;
                    wish += link.weight * (other - own);
                    weight += link.weight;
                }
            };
            if (down || both) pull(above_[row[i]], true);
            if (!down || both) pull(below_[row[i]], false);
            if (weight == 0) { // nobody pulls: stay, weakly
                wish = items_[row[i]].x * 0.01;
                weight = 0.01;
            }
            pools.push_back({wish - weight * shift[i], weight, 0, 1});
            while (pools.size() > 1) {
                const Pool& last = pools.back();
                Pool& before = pools[pools.size() - 2];
                if (before.sum / before.weight <= last.sum / last.weight) break;
                before.sum += last.sum;
                before.weight += last.weight;
                before.count += last.count;
                pools.pop_back();
            }
        }
        std::size_t i = 0;
        for (const Pool& pool : pools)
            for (std::size_t k = 0; k < pool.count; ++k, ++i) items_[row[i]].x = pool.sum / pool.weight + shift[i];
    }

    // Edges of one box leave side by side, in the order of where they go; so do those that arrive.
    void spreadEnds() {
        std::vector<std::vector<std::size_t>> leaving(level_.boxes.size()), arriving(level_.boxes.size());
        for (std::size_t i = 0; i < level_.segments.size(); ++i) {
            const Segment& s = level_.segments[i];
            if (s.from >= 0 && !s.from_fixed) leaving[static_cast<std::size_t>(s.from)].push_back(i);
            if (s.to >= 0 && !s.to_fixed) arriving[static_cast<std::size_t>(s.to)].push_back(i);
        }
        const auto spread = [&](std::vector<std::size_t>& ends, std::size_t box, bool lower) {
            if (ends.size() < 2) return;
            const auto towards = [&](std::size_t i) {
                const std::vector<std::size_t>& chain = chains_[i];
                const Segment& s = level_.segments[i];
                return lower ? items_[chain[1]].x + (chain.size() == 2 ? s.to_offset : 0)
                             : items_[chain[chain.size() - 2]].x + (chain.size() == 2 ? s.from_offset : 0);
            };
            std::stable_sort(ends.begin(), ends.end(),
                             [&](std::size_t a, std::size_t b) { return towards(a) < towards(b); });
            const double step = std::min(20.0, 0.7 * level_.boxes[box].width / static_cast<double>(ends.size()));
            for (std::size_t k = 0; k < ends.size(); ++k) {
                const double offset = (static_cast<double>(k) - static_cast<double>(ends.size() - 1) / 2) * step;
                (lower ? level_.segments[ends[k]].from_offset : level_.segments[ends[k]].to_offset) = offset;
            }
        };
        for (std::size_t b = 0; b < level_.boxes.size(); ++b) {
            spread(leaving[b], b, true);
            spread(arriving[b], b, false);
        }
    }

    void write() {
        double left = std::numeric_limits<double>::max(), right = std::numeric_limits<double>::lowest();
        for (const Item& item : items_) {
            left = std::min(left, item.x - item.width / 2);
            right = std::max(right, item.x + item.width / 2);
        }
        if (items_.empty()) left = right = 0;
        std::vector<double> top(ranks_ + 2, 0), bottom(ranks_ + 2, 0);
        double y = 0;
        for (std::size_t r = 0; r < rows_.size(); ++r) {
            double tallest = 0;
            for (const std::size_t item : rows_[r]) tallest = std::max(tallest, items_[item].height);
            // The borders are lines: no gap where no edge passes.
            if (r > 0 && (r + 1 < rows_.size() ? r > 1 || !rows_[0].empty() : !rows_[r].empty())) y += level_.rank_gap;
            top[r] = y;
            y += tallest;
            bottom[r] = y;
        }
        level_.width = right - left;
        level_.height = y;
        for (const Item& item : items_) {
            if (item.box < 0) continue;
            LayoutRect& box = level_.boxes[static_cast<std::size_t>(item.box)];
            const std::size_t row = static_cast<std::size_t>(item.rank) + 1;
            box.x = item.x - left - item.width / 2;
            box.y = (top[row] + bottom[row] - item.height) / 2;
        }
        spreadEnds();
        level_.bends.assign(level_.segments.size(), {});
        level_.from_x.assign(level_.segments.size(), 0);
        level_.to_x.assign(level_.segments.size(), 0);
        level_.gap_y.assign(level_.segments.size(), 0);
        for (std::size_t i = 0; i < level_.segments.size(); ++i) {
            const std::vector<std::size_t>& chain = chains_[i];
            level_.from_x[i] = items_[chain.front()].x - left + level_.segments[i].from_offset;
            level_.gap_y[i] = bottom[static_cast<std::size_t>(fromRank(level_.segments[i]) + 1)];
            level_.to_x[i] = items_[chain.back()].x - left + level_.segments[i].to_offset;
            for (std::size_t k = 1; k + 1 < chain.size(); ++k) {
                const std::size_t row = static_cast<std::size_t>(items_[chain[k]].rank) + 1;
                const double x = items_[chain[k]].x - left;
                level_.bends[i].push_back({x, top[row]});
                if (bottom[row] > top[row]) level_.bends[i].push_back({x, bottom[row]});
            }
        }
    }

    Level& level_;
    std::vector<std::int32_t> rank_;
    std::size_t ranks_ = 1;
    std::vector<Item> items_; // the boxes first
    std::vector<Link> links_;
    std::vector<std::vector<std::size_t>> rows_, above_, below_, chains_;
};

} // namespace

void Level::arrange() { Arrangement(*this).run(); }

} // namespace fusescope::layered
