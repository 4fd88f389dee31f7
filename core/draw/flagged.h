// SPDX-License-Identifier: Apache-2.0
// Which findings are worth marking in a picture: those that pay, without the ones that the plan leaves out because they
// share kernels with a better one. A selected finding is always marked.
#pragma once

#include "core/analysis/selection.h"

#include <cstdint>
#include <vector>

namespace fusescope {

// Their rows, ascending. verdicts: of the findings, parallel to them, and the plan made with them: once measured, or as
// predicted.
[[nodiscard]] std::vector<std::uint32_t> worthMarking(const std::vector<Finding>& findings,
                                                      const std::vector<Verdict>& verdicts, const Plan& plan);
// With the selected ones. worth: of worthMarking(); null: as predicted.
[[nodiscard]] std::vector<std::uint32_t> markedFindings(const Analysis& analysis, const SelectionSets& selection,
                                                        const std::vector<std::uint32_t>* worth);
[[nodiscard]] Pick pickOfInstance(std::uint32_t finding, std::size_t instance) noexcept;

} // namespace fusescope
