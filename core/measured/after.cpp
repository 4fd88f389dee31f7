// SPDX-License-Identifier: Apache-2.0
#include "core/measured/after.h"

#include "core/measured/moves.h"
#include "core/measured/replay.h"
#include "core/measured/shown.h"

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {
constexpr std::size_t kMostKept = 8; // of a long trace each is megabytes
}

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
    if (!after) return after;
    after->whole_trace = analysis.trace->steps.empty();
    after->plan_measured = plan.whole();
    after->with_selected =
        std::any_of(shown.begin(), shown.end(), [](const ShownInstance& one) { return !one.counts; });
    return after;
}

void AfterCache::forget() {
    when_picked_.reset();
    made_.clear();
}

std::shared_ptr<const TimelineAfter> AfterCache::of(const Analysis& analysis, const MeasuredSet& set,
                                                    const SelectionSets& selection,
                                                    std::span<const ChosenPtr> regions) {
    if (!when_picked_) when_picked_ = shownWhenPicked(analysis, set, applyMeasured(analysis, set).plan, regions);
    std::vector<std::size_t> picked;
    for (std::size_t i = 0; i < when_picked_->size(); ++i)
        if (isPicked(selection, (*when_picked_)[i])) picked.push_back(i);
    if (const auto at = made_.find(picked); at != made_.end()) return at->second;
    if (made_.size() >= kMostKept) made_.clear();
    std::optional<TimelineAfter> made = timelineAfter(analysis, set, selection, regions);
    auto after = made ? std::make_shared<const TimelineAfter>(std::move(*made)) : nullptr;
    return made_.emplace(std::move(picked), std::move(after)).first->second;
}

} // namespace fusescope
