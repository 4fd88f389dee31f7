// SPDX-License-Identifier: Apache-2.0
#include "core/measured/after.h"

#include "core/measured/moves.h"
#include "core/measured/replay.h"

#include <algorithm>

namespace fusescope {

std::optional<TimelineAfter> timelineAfter(const Analysis& analysis, const MeasuredSet& set,
                                           const SelectionSets& selection) {
    if (!analysis.trace || analysis.steps.empty() || set.empty() || !analysis.time_factors.empty()) return {};
    if (static_cast<std::size_t>(std::max<std::int16_t>(analysis.step, 0)) >= analysis.steps.size()) return {};
    std::vector<FusedChange> changes;
    const auto take = [&](const Finding& finding, std::uint32_t row, const MeasuredFinding& measured, auto&& wanted) {
        for (const MeasuredClass& c : measured.classes) {
            if (c.result == nullptr || c.use != MeasuredUse::Saving) continue;
            for (const std::uint32_t i : c.of.instances) {
                if (!wanted(i)) continue;
                FusedChange change{row, i, measuredSaving(c.result->result, stepTimeOf(finding, finding.instances[i]))};
                for (const Comparison& d : c.result->result.directions)
                    if (d.has_fused) change.fused[d.direction == "backward" ? 1U : 0U] = fusedNs(d);
                changes.push_back(change);
            }
        }
    };
    const Plan plan = applyMeasured(analysis, set).plan;
    for (const bool in_plan : {true, false})
        for (std::uint32_t row = 0; row < analysis.findings.size(); ++row) {
            const Finding& finding = analysis.findings[row];
            const PlanPart* part = planPartOf(plan, finding.id);
            if (in_plan ? part == nullptr
                        : !std::binary_search(selection.findings.begin(), selection.findings.end(), row))
                continue;
            take(finding, row, applyMeasured(analysis, finding, set), [&](std::uint32_t i) {
                return (part != nullptr && std::find(part->instances.begin(), part->instances.end(), i) !=
                                               part->instances.end()) == in_plan;
            });
        }
    return replay(analysis, changes);
}

} // namespace fusescope
