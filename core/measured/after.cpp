// SPDX-License-Identifier: Apache-2.0
#include "core/measured/after.h"

#include "core/measured/moves.h"
#include "core/measured/replay.h"
#include "core/measured/shown.h"

#include <algorithm>
#include <utility>

namespace fusescope {

std::optional<TimelineAfter> timelineAfter(const Analysis& analysis, const MeasuredSet& set,
                                           const SelectionSets& selection, std::span<const ChosenPtr> regions) {
    if (!analysis.trace || analysis.steps.empty() || set.empty() || !analysis.time_factors.empty()) return {};
    if (static_cast<std::size_t>(std::max<std::int16_t>(analysis.step, 0)) >= analysis.steps.size()) return {};
    const MeasuredPlan plan = applyMeasured(analysis, set);
    std::vector<ShownInstance> shown = shownInstances(analysis, set, plan.plan, selection, regions);
    // Of two that share a kernel the one stays that the step's total counts.
    std::stable_partition(shown.begin(), shown.end(), [](const ShownInstance& one) { return one.counts; });
    std::vector<FusedChange> changes;
    for (const ShownInstance& one : shown) {
        FusedChange change;
        static_cast<FusedOf&>(change) = one.of;
        change.saved = measuredSaving(one.result->result, stepTimeOf(*workOf(analysis, one.of), *one.instance));
        for (const Comparison& d : one.result->result.directions)
            if (d.has_fused) change.fused[d.direction == "backward" ? 1U : 0U] = fusedNs(d);
        changes.push_back(std::move(change));
    }
    std::optional<TimelineAfter> after = replay(analysis, changes);
    if (after) after->plan_measured = plan.whole();
    return after;
}

} // namespace fusescope
