// SPDX-License-Identifier: Apache-2.0
// How the step goes once measured fusions are in it, for the timeline.
#pragma once

#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <optional>
#include <span>

namespace fusescope {

// With the measured instances of the plan and of the user's own regions beside it, and those of what is selected that
// share no kernel with them; what is only predicted stays as recorded. None when none of them saves anything, without a
// trace, and when findings are of another GPU than the trace.
[[nodiscard]] std::optional<TimelineAfter> timelineAfter(const Analysis& analysis, const MeasuredSet& set,
                                                         const SelectionSets& selection,
                                                         std::span<const ChosenPtr> regions = {});

} // namespace fusescope
