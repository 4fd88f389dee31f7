// SPDX-License-Identifier: Apache-2.0
// What regions of the user's own choice gave once measured, and what of it the step gains beside the plan.
#pragma once

#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <span>
#include <string>
#include <vector>

namespace fusescope {

// What was measured of a region, and whether the step gains it: it saves something, and nothing of its work is counted
// already.
struct RegionGain {
    MeasuredFinding measured;
    // Of the findings of the plan (ids) and of the regions before it that count (titles) those that share kernels or
    // nodes with it.
    std::vector<std::string> with;
    bool counts = false;
};
// Parallel to the regions. plan: that of the analysis or the one chosen again.
[[nodiscard]] std::vector<RegionGain> regionGains(const Analysis& analysis, const MeasuredSet& set, const Plan& plan,
                                                  std::span<const ChosenPtr> regions);

// applyMeasured() of a region; without a promise where the region makes none (nodes have a limit instead).
[[nodiscard]] MeasuredFinding applyMeasured(const Analysis& analysis, const ChosenRegion& region,
                                            const MeasuredSet& set);

// The plan's step, less what measured regions save that share nothing with it.
[[nodiscard]] MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set,
                                         std::span<const ChosenPtr> regions);

} // namespace fusescope
