// SPDX-License-Identifier: Apache-2.0
// Measured findings in the pictures.
#pragma once

#include "core/draw/roofline_draw.h"
#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <span>
#include <vector>

namespace fusescope {

// Of the fused form of a direction, ns: without the launch, where that is known.
[[nodiscard]] double fusedNs(const Comparison& comparison);

// Of each finding with a measured saving, for the shape that most of its instances have, and of each of the user's own
// regions that pictures show as one kernel, forward alone: its backward's bytes are not known. Left out: whose FLOPs or
// bytes are not known.
[[nodiscard]] std::vector<RooflineMove> rooflineMoves(const Analysis& analysis, const MeasuredSet& set,
                                                      std::span<const ChosenPtr> regions = {});

// On timeline and graph: what shownInstances() says, what is selected last.
[[nodiscard]] std::vector<TimelineFused> timelineFused(const Analysis& analysis, const MeasuredSet& set,
                                                       const SelectionSets& selection,
                                                       std::span<const ChosenPtr> regions = {});

} // namespace fusescope
