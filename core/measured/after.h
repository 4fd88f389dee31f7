// SPDX-License-Identifier: Apache-2.0
// How the step goes once measured fusions are in it, for the timeline.
#pragma once

#include "core/draw/timeline_draw.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace fusescope {

// With the measured instances of the plan and of the user's own regions beside it, and those of what is selected that
// share no kernel with them; what is only predicted stays as recorded. None when none of them saves anything, without a
// trace, and when findings are of another GPU than the trace.
[[nodiscard]] std::optional<TimelineAfter> timelineAfter(const Analysis& analysis, const MeasuredSet& set,
                                                         const SelectionSets& selection,
                                                         std::span<const ChosenPtr> regions = {});

// timelineAfter() for one selection after the other: most of them show the same step, which is reckoned once.
class AfterCache {
public:
    void forget(); // analysis, results or regions are others from now on
    // Null: none. The same pointer as before is the same step.
    [[nodiscard]] std::shared_ptr<const TimelineAfter> of(const Analysis& analysis, const MeasuredSet& set,
                                                          const SelectionSets& selection,
                                                          std::span<const ChosenPtr> regions);

private:
    std::optional<std::vector<FusedOf>> when_picked_;                               // none: not looked for yet
    std::map<std::vector<std::size_t>, std::shared_ptr<const TimelineAfter>> made_; // by which of them are picked
};

} // namespace fusescope
