// SPDX-License-Identifier: Apache-2.0
// A replay of the analysed step with instances fused in it.
//
// In the recorded order, work of the GPU starts as soon after what ran before it as it did, but not before its launch
// plus the shortest time that any launch of the step took to start. An instance's kernels give way to one for each
// measured direction, where its first one ran; together they save what measuredSaving() says, less what other streams
// do meanwhile. The CPU no longer does what it did from one of the region's launches to the next; where a
// region waits for its launches (Instance::idle_ns) it is through earlier by what the region saves at least, since that
// is what was measured. Waiting for the GPU (cuda*Synchronize) ends as much earlier as the work that is waited for.
// Devices move each for itself. One that idled until another one had copied to it, or had left a collective, moves with
// that, and none leaves a collective before the last one has come to it. A device that waits inside a collective has no
// more of it when the others come earlier: what they save there is no promise.
// Launches are as recorded, with what the profiler costs: a step that is held by them here may do better without it.
#pragma once

#include "core/draw/timeline_draw.h"

#include <array>
#include <optional>
#include <span>

namespace fusescope {

// What an instance saves (ns), and what its fused kernels take, forward and backward; negative: not measured.
struct FusedChange : FusedOf {
    double saved = 0;
    std::array<double, 2> fused{-1, -1};
};

// Of changes that share a kernel the first counts; those that save nothing are left out. None when none is left.
// analysis: with a trace and a step.
[[nodiscard]] std::optional<TimelineAfter> replay(const Analysis& analysis, std::span<const FusedChange> changes);

} // namespace fusescope
