// SPDX-License-Identifier: Apache-2.0
#include "core/trace/finish.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace fusescope {
namespace {

// Host events overrun their parent by nanoseconds up to about a microsecond (clock reads): still children.
constexpr std::uint64_t kOverrunNs = 1000;
constexpr std::uint16_t kMaxDepth = 2048; // deeper rows share the last one

// GPU streams do not nest: overlapping work (programmatic dependent launch) takes the first free lane. Rows come by
// their begin, so a lane that was free once is free until it is taken again.
class Lanes {
public:
    std::uint16_t place(std::int64_t ts, std::int64_t end) {
        if (end == ts) return 0; // a tick, wherever it falls: no lane of its own
        while (!busy_.empty() && busy_.top().first <= ts) {
            free_.push(busy_.top().second);
            busy_.pop();
        }
        std::uint16_t lane = 0;
        if (!free_.empty()) {
            lane = free_.top();
            free_.pop();
        } else {
            if (used_ == kMaxDepth - 1) return used_; // everything that finds no other
            lane = used_++;
        }
        busy_.emplace(end, lane);
        return lane;
    }

private:
    using Busy = std::pair<std::int64_t, std::uint16_t>; // until when, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
    std::priority_queue<std::uint16_t, std::vector<std::uint16_t>, std::greater<>> free_;
    std::uint16_t used_ = 0;
};

// later - earlier; unsigned, since it may exceed int64.
std::uint64_t between(std::int64_t earlier, std::int64_t later) {
    return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
}

// Is [ts, end) inside a slice that began earlier and ends at outer_end? A little may stick out, if less than is inside.
bool encloses(std::int64_t outer_end, std::int64_t ts, std::int64_t end) {
    if (outer_end >= end) return true;
    if (outer_end <= ts) return false;
    const std::uint64_t outside = between(outer_end, end);
    return outside <= kOverrunNs && between(ts, outer_end) > outside;
}

// Takes off the stack what ended before [ts, end) begins, or so little after that it is a neighbour, not a parent.
void closeBefore(const TraceStore& store, std::vector<SliceId>& stack, std::int64_t ts, std::int64_t end) {
    while (!stack.empty()) {
        const std::int64_t outer_end = store.endOf(stack.back());
        if (outer_end > ts && (encloses(outer_end, ts, end) || between(ts, outer_end) > kOverrunNs)) return;
        stack.pop_back();
    }
}

} // namespace

void nestSlices(TraceStore& store) {
    SliceTable& s = store.slices;
    s.depth.assign(s.size(), 0);
    s.parent.assign(s.size(), SliceId{});
    std::vector<std::vector<SliceId>> open(store.tracks.size()); // per host track: enclosing slices, outermost first
    std::vector<Lanes> lanes(store.tracks.size());
    for (std::size_t row = 0; row < s.size(); ++row) {
        const std::size_t t = s.track[row].index();
        Track& track = store.tracks[t];
        const std::int64_t ts = s.ts[row], end = ts + s.dur[row];
        if (track.kind == TrackKind::GpuStream || track.kind == TrackKind::GpuAnnotation) {
            s.depth[row] = lanes[t].place(ts, end);
        } else {
            std::vector<SliceId>& stack = open[t];
            closeBefore(store, stack, ts, end);
            // A partial overlap beyond the tolerance is a sibling a row further down, so that neither hides the other.
            SliceId parent = stack.empty() ? SliceId{} : stack.back();
            const std::size_t depth = std::min<std::size_t>(stack.size(), kMaxDepth - 1);
            for (std::size_t up = stack.size(); parent.valid() && !encloses(store.endOf(parent), ts, end); --up)
                parent = up >= 2 ? stack[up - 2] : SliceId{};
            s.parent[row] = parent;
            s.depth[row] = static_cast<std::uint16_t>(depth);
            if (stack.size() < kMaxDepth) stack.push_back(SliceId(row));
        }
        ++track.slices;
        track.depths = std::max(track.depths, static_cast<std::uint16_t>(s.depth[row] + 1));
    }
}

} // namespace fusescope
