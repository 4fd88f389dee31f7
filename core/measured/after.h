// SPDX-License-Identifier: Apache-2.0
// How the step goes once measured fusions are in it: a replay of the analysed step, for the timeline.
//
// In the recorded order, work of the GPU starts as soon after what ran before it as it did, but not before its launch
// plus the shortest time that any launch of the step took to start. An instance's kernels give way to one for each
// measured direction, where its first one ran; together they save what measuredSaving() says, less what other streams
// do meanwhile. The CPU no longer does what it did from one of the region's launches to the next; where a
// region waits for its launches (Instance::idle_ns) it is through earlier by what the region saves at least, since that
// is what was measured. Waiting for the GPU (cuda*Synchronize) ends as much earlier as the work that is waited for.
// Launches are as recorded, with what the profiler costs: a step that is held by them here may do better without it.
#pragma once

#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"

#include <optional>

namespace fusescope {

// With the measured instances of the plan, and those of selected findings that share no kernel with them. None when
// none of them saves anything, without a trace, and when findings are of another GPU than the trace.
[[nodiscard]] std::optional<TimelineAfter> timelineAfter(const Analysis& analysis, const MeasuredSet& set,
                                                         const SelectionSets& selection);

} // namespace fusescope
