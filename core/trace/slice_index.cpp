// SPDX-License-Identifier: Apache-2.0
#include "core/trace/slice_index.h"

#include <algorithm>
#include <limits>

namespace fusescope {
namespace {

constexpr std::size_t kBlock = 32; // slices per summary: keeps the forest at about two bytes a slice

// The slices of one (track, depth): sorted by start, not overlapping beyond the nesting tolerance.
struct Row {
    std::vector<std::uint32_t> slices;
    // Implicit binary tree over blocks: node n stands for the longest slice of its half. tree[blocks + b] is block b.
    std::vector<std::uint32_t> tree;
    std::vector<std::int64_t> before; // durations of all slices before block b, summed
    std::size_t blocks = 0;
};

} // namespace

struct SliceIndex::Impl {
    const TraceStore* store = nullptr;
    std::vector<std::vector<Row>> rows; // [track][depth]

    std::uint32_t longer(std::uint32_t a, std::uint32_t b) const {
        constexpr std::uint32_t none = SliceId::kNone;
        if (a == none) return b;
        if (b == none) return a;
        return store->slices.dur[a] >= store->slices.dur[b] ? a : b;
    }
    std::uint32_t longestOf(const Row& row, std::size_t from, std::size_t to) const { // positions [from, to)
        std::uint32_t best = SliceId::kNone;
        while (from < to && from % kBlock != 0) best = longer(best, row.slices[from++]);
        while (to > from && to % kBlock != 0 && to != row.slices.size()) best = longer(best, row.slices[--to]);
        if (from >= to) return best;
        std::size_t l = row.blocks + from / kBlock, r = row.blocks + (to + kBlock - 1) / kBlock;
        for (; l < r; l /= 2, r /= 2) {
            if (l % 2 == 1) best = longer(best, row.tree[l++]);
            if (r % 2 == 1) best = longer(best, row.tree[--r]);
        }
        return best;
    }
    std::int64_t busyOf(const Row& row, std::size_t from, std::size_t to) const { // positions [from, to)
        const auto sum = [&](std::size_t a, std::size_t b) {
            std::uint64_t total = 0; // unsigned: hostile durations may overflow
            for (; a < b; ++a) total += static_cast<std::uint64_t>(store->slices.dur[row.slices[a]]);
            return total;
        };
        const std::size_t first = (from + kBlock - 1) / kBlock, last = to / kBlock;
        if (first >= last) return static_cast<std::int64_t>(sum(from, to));
        return static_cast<std::int64_t>(sum(from, first * kBlock) + static_cast<std::uint64_t>(row.before[last]) -
                                         static_cast<std::uint64_t>(row.before[first]) + sum(last * kBlock, to));
    }
    void build(Row& row) const {
        row.blocks = (row.slices.size() + kBlock - 1) / kBlock;
        row.tree.assign(2 * row.blocks, SliceId::kNone);
        for (std::size_t i = 0; i < row.slices.size(); ++i) {
            std::uint32_t& leaf = row.tree[row.blocks + i / kBlock];
            leaf = longer(leaf, row.slices[i]);
        }
        row.before.reserve(row.blocks + 1);
        std::uint64_t total = 0;
        for (std::size_t i = 0; i < row.slices.size(); ++i) {
            if (i % kBlock == 0) row.before.push_back(static_cast<std::int64_t>(total));
            total += static_cast<std::uint64_t>(store->slices.dur[row.slices[i]]);
        }
        row.before.push_back(static_cast<std::int64_t>(total));
        for (std::size_t n = row.blocks; n-- > 1;) row.tree[n] = longer(row.tree[2 * n], row.tree[2 * n + 1]);
    }
    const Row* row(TrackId track, std::uint16_t depth) const {
        if (track.index() >= rows.size() || depth >= rows[track.index()].size()) return nullptr;
        return &rows[track.index()][depth];
    }
    // First position whose start is >= t.
    std::size_t lower(const Row& row, std::int64_t t) const {
        return static_cast<std::size_t>(
            std::lower_bound(row.slices.begin(), row.slices.end(), t,
                             [&](std::uint32_t s, std::int64_t time) { return store->slices.ts[s] < time; }) -
            row.slices.begin());
    }
    // Steps back over a few slices without duration in front of a position.
    std::size_t beforeTicks(const Row& row, std::size_t position) const {
        constexpr std::size_t kMaxTicks = 64;
        std::size_t at = position;
        while (at > 0 && position - at < kMaxTicks && store->slices.dur[row.slices[at - 1]] == 0) --at;
        return at;
    }
};

SliceIndex::SliceIndex(const TraceStore& store) : impl_(std::make_unique<Impl>()) {
    impl_->store = &store;
    impl_->rows.resize(store.tracks.size());
    for (std::size_t t = 0; t < store.tracks.size(); ++t) impl_->rows[t].resize(store.tracks[t].depths);
    for (std::size_t s = 0; s < store.slices.size(); ++s) {
        if (store.slices.ts[s] == 0 && store.slices.dur[s] == 0) continue; // untimed: has no place on the axis
        impl_->rows[store.slices.track[s].index()][store.slices.depth[s]].slices.push_back(
            static_cast<std::uint32_t>(s));
    }
    for (auto& track : impl_->rows)
        for (Row& row : track) impl_->build(row);
}
SliceIndex::~SliceIndex() = default;
SliceIndex::SliceIndex(SliceIndex&&) noexcept = default;
SliceIndex& SliceIndex::operator=(SliceIndex&&) noexcept = default;

void SliceIndex::query(TrackId track, std::uint16_t depth, std::int64_t t0, std::int64_t t1, int pixels,
                       std::vector<LodSpan>& out) const {
    const Row* row = impl_->row(track, depth);
    if (row == nullptr || row->slices.empty() || t1 <= t0 || pixels <= 0) return;
    const TraceStore& store = *impl_->store;
    const auto endOf = [&](std::uint32_t s) { return store.slices.ts[s] + store.slices.dur[s]; };
    // Unsigned: a hostile range may span more than int64's positive half.
    const std::uint64_t range = static_cast<std::uint64_t>(t1) - static_cast<std::uint64_t>(t0);
    const auto pixel =
        static_cast<std::int64_t>(std::max<std::uint64_t>(1, range / static_cast<std::uint64_t>(pixels)));
    std::size_t i = impl_->lower(*row, t0);
    // What began before the range and reaches into it; ticks of no length may lie on top of it.
    const std::size_t before = impl_->beforeTicks(*row, i);
    if (before > 0 && endOf(row->slices[before - 1]) > t0) {
        if (before == i) {
            --i;
        } else {
            const std::uint32_t s = row->slices[before - 1];
            out.push_back({store.slices.ts[s], endOf(s), SliceId(s), 1, depth, static_cast<std::uint32_t>(before - 1),
                           store.slices.dur[s]});
        }
    }
    while (i < row->slices.size()) {
        const std::uint32_t s = row->slices[i];
        const std::int64_t begin = store.slices.ts[s];
        if (begin >= t1) return;
        const std::int64_t until = begin > std::numeric_limits<std::int64_t>::max() - pixel
                                       ? std::numeric_limits<std::int64_t>::max()
                                       : begin + pixel;
        const bool wide = store.slices.dur[s] >= pixel;
        // Slices lie over each other only in the last row, which all deeper ones share. However many begin within a
        // pixel there, they are one thing to draw.
        const auto liesOver = [&](std::uint32_t next) {
            return store.slices.dur[next] > 0 && store.slices.ts[next] < std::min(until, endOf(s));
        };
        if (wide && (i + 1 == row->slices.size() || !liesOver(row->slices[i + 1]))) {
            out.push_back({begin, endOf(s), SliceId(s), 1, depth, static_cast<std::uint32_t>(i), store.slices.dur[s]});
            ++i;
            continue;
        }
        // Everything that begins within this pixel, up to the first slice that is wide enough to be drawn alone.
        std::size_t j = std::min(impl_->lower(*row, std::min(until, t1)), row->slices.size());
        if (j <= i) j = i + 1;
        const std::uint32_t last = row->slices[j - 1];
        if (!wide && j - i > 1 && store.slices.dur[last] >= pixel) --j;
        const std::uint32_t longest = impl_->longestOf(*row, i, j);
        out.push_back({begin, std::max(endOf(row->slices[j - 1]), endOf(longest)), SliceId(longest),
                       static_cast<std::uint32_t>(j - i), depth, static_cast<std::uint32_t>(i),
                       impl_->busyOf(*row, i, j)});
        i = j;
    }
}

SliceId SliceIndex::inRow(TrackId track, std::uint16_t depth, std::size_t position) const noexcept {
    const Row* row = impl_->row(track, depth);
    return row != nullptr && position < row->slices.size() ? SliceId(row->slices[position]) : SliceId();
}

SliceId SliceIndex::at(TrackId track, std::uint16_t depth, std::int64_t t, std::int64_t tolerance) const {
    const Row* row = impl_->row(track, depth);
    if (row == nullptr || row->slices.empty()) return {};
    const TraceStore& store = *impl_->store;
    const std::size_t after =
        impl_->lower(*row, t == std::numeric_limits<std::int64_t>::max() ? t : t + 1); // first that begins later
    const auto distance = [&](std::uint32_t s) -> std::int64_t {
        const std::int64_t begin = store.slices.ts[s], end = begin + store.slices.dur[s];
        if (t < begin) return begin - t;
        return t < end || t == begin ? 0 : t - end + 1;
    };
    SliceId best;
    std::int64_t best_distance = tolerance;
    const std::size_t before = impl_->beforeTicks(*row, after);
    for (std::size_t i = before >= 1 ? before - 1 : 0; i < std::min(after + 1, row->slices.size()); ++i) {
        const std::int64_t d = distance(row->slices[i]);
        if (d > best_distance) continue;
        if (best.valid() && d == best_distance && store.slices.dur[row->slices[i]] >= store.slices.dur[best.index()])
            continue;
        best = SliceId(row->slices[i]);
        best_distance = d;
    }
    return best;
}

} // namespace fusescope
