// SPDX-License-Identifier: Apache-2.0
// Level-of-detail query: what to draw of one track in a time range at a number of pixels, in O(pixels x log n) whatever
// the number of slices. Built once per store.
#pragma once

#include "core/trace/trace_store.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace fusescope {

// A span to draw: one slice (count 1), or several that fall below a pixel, folded (count > 1; slice = the longest).
struct LodSpan {
    std::int64_t begin = 0, end = 0; // ns
    SliceId slice;
    std::uint32_t count = 1;
    std::uint16_t depth = 0;
    std::uint32_t first = 0; // position of the first one in its row, see SliceIndex::inRow
    std::int64_t busy = 0;   // ns, sum of the durations: less than end - begin where there are gaps
};

class SliceIndex {
public:
    explicit SliceIndex(const TraceStore& store);
    ~SliceIndex();
    SliceIndex(SliceIndex&&) noexcept;
    SliceIndex& operator=(SliceIndex&&) noexcept;

    // Appends the spans of one (track, depth) row that meet [t0, t1), in time order, at most about 2 * pixels of them.
    void query(TrackId track, std::uint16_t depth, std::int64_t t0, std::int64_t t1, int pixels,
               std::vector<LodSpan>& out) const;
    // Deepest slice at time t with the given depth, invalid if none. tolerance: ns either side.
    [[nodiscard]] SliceId at(TrackId track, std::uint16_t depth, std::int64_t t, std::int64_t tolerance = 0) const;
    // Slice at a position of a row, invalid beyond its end.
    [[nodiscard]] SliceId inRow(TrackId track, std::uint16_t depth, std::size_t position) const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
