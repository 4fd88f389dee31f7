// SPDX-License-Identifier: Apache-2.0
// Which findings are worth marking in a picture: those that pay, without the ones that the plan leaves out because they
// share kernels with a better one. A selected finding is always marked.
#pragma once

#include "core/analysis/selection.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusescope {

[[nodiscard]] bool worthMarking(const Finding& finding) noexcept;
[[nodiscard]] std::vector<std::uint32_t> markedFindings(const Analysis& analysis, const SelectionSets& selection);
[[nodiscard]] Pick pickOfInstance(std::uint32_t finding, std::size_t instance) noexcept;

} // namespace fusescope
