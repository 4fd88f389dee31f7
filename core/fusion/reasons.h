// SPDX-License-Identifier: Apache-2.0
// The verdict on a finding and the sentences that explain it. Private to core/fusion.
#pragma once

#include "core/fusion/finding.h"

#include <string>
#include <vector>

namespace fusescope::fusion {

[[nodiscard]] Verdict verdictOf(const Finding& finding) noexcept;
// Why no backward is counted where there should be one; "" when there is nothing to say.
[[nodiscard]] std::string unseenBackward(const FusionInput& input, const Finding& finding);
[[nodiscard]] std::vector<std::string> reasonsOf(const FusionInput& input, const Finding& finding);
// Operators of an instance in the graph that compute something.
[[nodiscard]] std::size_t countWorkingNodes(const FusionInput& input, const Instance& instance);

} // namespace fusescope::fusion
