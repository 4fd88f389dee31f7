// SPDX-License-Identifier: Apache-2.0
// Which measured instances the pictures show as fused: those of the plan and of the user's own regions beside it, and
// those of what is selected.
#pragma once

#include "core/draw/fused_of.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <span>
#include <vector>

namespace fusescope {

// Whether pictures can show it as one kernel in the step: not a module with fusions inside, not what the step runs at
// other sizes, and not what it runs several times, of which only the sum is known.
[[nodiscard]] bool drawnAsFused(const ChosenRegion& region);
[[nodiscard]] FusedOf fusedOf(const ChosenPtr& region, std::uint32_t instance = 0);

// measuredSpeed() for pictures.
[[nodiscard]] FusedSpeed shownSpeed(const FuseResult& result, const Finding& finding, const Instance& instance);

struct ShownInstance {
    FusedOf of;
    const Instance* instance = nullptr; // of the analysis or of `regions`
    const MeasuredResult* result = nullptr;
    bool counts = false; // in the step's total; else it is shown because it is selected
};
// Findings by row, then regions in their order. plan: as measured, applyMeasured().
[[nodiscard]] std::vector<ShownInstance> shownInstances(const Analysis& analysis, const MeasuredSet& set,
                                                        const Plan& plan, const SelectionSets& selection,
                                                        std::span<const ChosenPtr> regions);

} // namespace fusescope
