// SPDX-License-Identifier: Apache-2.0
// Measured savings by instance. Not for other parts.
#pragma once

#include "core/measured/measured.h"

namespace fusescope {

// Parallel to the findings; empty lists where a finding has none.
[[nodiscard]] MeasuredSavings savingsOf(const Analysis& analysis, const MeasuredSet& set);

} // namespace fusescope
