// SPDX-License-Identifier: Apache-2.0
// What findings that are fused already leave. Private to core/fusion.
#pragma once

#include "core/fusion/side_by_side.h"

namespace fusescope::fusion {

// Sets headroom and headroom_ns of a finding with a trace whose state is Fused; needs its times and bytes.
void findHeadroom(const FusionInput& input, const SideBySide& beside, Finding& finding);

} // namespace fusescope::fusion
