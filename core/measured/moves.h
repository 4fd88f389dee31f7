// SPDX-License-Identifier: Apache-2.0
// Measured findings on the roofline: from where they stand as run to where their fused form stands.
#pragma once

#include "core/draw/roofline_draw.h"
#include "core/measured/measured.h"

#include <vector>

namespace fusescope {

// Of each finding with a measured saving, for the shape that most of its instances have. Left out: whose FLOPs or bytes
// are not known.
[[nodiscard]] std::vector<RooflineMove> rooflineMoves(const Analysis& analysis, const MeasuredSet& set);

} // namespace fusescope
