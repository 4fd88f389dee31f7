// SPDX-License-Identifier: Apache-2.0
// What regions of the user's own choice gave once measured, and what of it the step gains beside the plan.
#pragma once

#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace fusescope {

// The findings (ids) of the plan, that of the analysis or the one chosen again, and the regions (titles) before `row`
// that share kernels or nodes with a region: what it saves is counted with them already.
[[nodiscard]] std::vector<std::string> countedWith(const Analysis& analysis, const Plan& plan,
                                                   std::span<const ChosenPtr> regions, std::size_t row);

// Whether the step gains what was measured of a region: it saves something, and nothing of it is counted already.
[[nodiscard]] bool countsBeside(const Analysis& analysis, const Plan& plan, std::span<const ChosenPtr> regions,
                                std::size_t row, const MeasuredFinding& measured);

// applyMeasured() of a region; without a promise where the region makes none (nodes have a limit instead).
[[nodiscard]] MeasuredFinding applyMeasured(const Analysis& analysis, const ChosenRegion& region,
                                            const MeasuredSet& set);

// The plan's step, less what measured regions save that share nothing with it.
[[nodiscard]] MeasuredPlan applyMeasured(const Analysis& analysis, const MeasuredSet& set,
                                         std::span<const ChosenPtr> regions);

} // namespace fusescope
