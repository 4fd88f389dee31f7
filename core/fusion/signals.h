// SPDX-License-Identifier: Apache-2.0
// The article's four signals (section 4), each with a sentence of evidence. Private to core/fusion.
#pragma once

#include "core/fusion/instances.h"

#include <string>
#include <vector>

namespace fusescope::fusion {

// Over the unfused instances of one pattern; empty when all of them are fused already.
void findSignals(const FusionInput& input, const std::vector<const Draft*>& drafts, Finding& finding);

} // namespace fusescope::fusion
