// SPDX-License-Identifier: Apache-2.0
// What the analysed step comes to, in sentences that the window and every report share. "" where there is nothing to
// say.
#pragma once

#include "core/analysis/analysis.h"

#include <string>
#include <string_view>

namespace fusescope {

// The analysed step, or the pseudo step of a trace without any; null without a trace.
[[nodiscard]] const StepStats* analysedStep(const Analysis& analysis) noexcept;
// "step", or "trace" where it has no steps and all of it is taken for one.
[[nodiscard]] std::string_view spanWord(const Analysis& analysis) noexcept;
// "step 93.2 ms → 54.8 ms"; for another GPU than the trace's both figures are of that one, and it is named.
[[nodiscard]] std::string stepHeadline(const Analysis& analysis);
// What bounds the step, with figures, and what helps: "Bound by the CPU's launches: ...".
[[nodiscard]] std::string stepVerdict(const Analysis& analysis);
// That the trace is of another GPU, so that its step and the prediction may not be compared.
[[nodiscard]] std::string otherDeviceNote(const Analysis& analysis);
// How the savings of findings and of the plan add up.
[[nodiscard]] std::string planNote(const Analysis& analysis);
// What of the plan's savings is of regions that were not seen in the step; "" where all were, and without a trace.
[[nodiscard]] std::string unseenNote(const Plan& plan);
// Where kernels run side by side, on several GPUs or on one: what of the plan's savings the step gets; "" where it gets
// all.
[[nodiscard]] std::string severalGpusNote(const Analysis& analysis);
// With --step all: which figures are of all steps and which of one.
[[nodiscard]] std::string stepScopeNote(const Analysis& analysis);

} // namespace fusescope
