// SPDX-License-Identifier: Apache-2.0
// Measured savings by instance, and the verdicts they give. Not for other parts.
#pragma once

#include "core/measured/measured.h"

namespace fusescope {

// Parallel to the findings; empty lists where a finding has none. verdicts: filled with one for each finding.
[[nodiscard]] MeasuredSavings savingsOf(const Analysis& analysis, const MeasuredSet& set,
                                        std::vector<Verdict>* verdicts = nullptr);

} // namespace fusescope
