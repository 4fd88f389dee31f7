// SPDX-License-Identifier: Apache-2.0
// The GPU work of a step, as its replay walks it. Not for other parts.
#pragma once

#include "core/analysis/analysis.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace fusescope {

constexpr std::int64_t kNoLaunch = std::numeric_limits<std::int64_t>::min();
constexpr std::size_t kNoRow = std::numeric_limits<std::size_t>::max();

enum class Meets : std::uint8_t { // of other devices
    Nobody,
    One, // it is copied to one
    All, // a collective
};

struct GpuRow { // a piece of work
    SliceId slice;
    std::int64_t begin = 0, end = 0;
    std::int64_t launch = kNoLaunch; // begin of the call
    std::size_t rank = 0;            // of the launch, among all; 0: none
    std::size_t device = 0;          // index into GpuWork::devices
    std::int64_t idle = 0;           // before it, on its device
    Meets meets = Meets::Nobody;

    // What the replay makes of it.
    bool removed = false, first = false;
    double length = 0;     // of a removed one: what its fused form takes here (0 but for the first)
    std::int64_t gap = 0;  // that goes before it
    std::size_t place = 0; // of the first one
};

struct GpuWork {
    std::vector<GpuRow> rows;          // by begin
    std::vector<std::int32_t> devices; // as in Track
};

// Of the analysed step, within begin..end. Left out: what lies outside, and times that none can have.
[[nodiscard]] GpuWork gpuWork(const Analysis& analysis, std::int64_t begin, std::int64_t end);
// kNoRow: it is none of them.
[[nodiscard]] std::size_t rowOf(const Analysis& analysis, const GpuWork& work, KernelId kernel);

// Of a step, not only the analysed one: what begins then.
struct NextWork {
    std::int32_t device = -1; // -1: nothing does
    std::int64_t launch = kNoLaunch;
};
[[nodiscard]] NextWork workAt(const Analysis& analysis, std::int64_t begin, std::size_t step);

} // namespace fusescope
