// SPDX-License-Identifier: Apache-2.0
// Measured findings in the pictures.
#pragma once

#include "core/draw/roofline_draw.h"
#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"

#include <vector>

namespace fusescope {

// Of the fused form of a direction, ns: without the launch, where that is known.
[[nodiscard]] double fusedNs(const Comparison& comparison);

// Of each finding with a measured saving, for the shape that most of its instances have. Left out: whose FLOPs or bytes
// are not known.
[[nodiscard]] std::vector<RooflineMove> rooflineMoves(const Analysis& analysis, const MeasuredSet& set);

// On the timeline: instances of the plan, and all those of selected findings, which come last.
[[nodiscard]] std::vector<TimelineFused> timelineFused(const Analysis& analysis, const MeasuredSet& set,
                                                       const SelectionSets& selection);

} // namespace fusescope
