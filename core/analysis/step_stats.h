// SPDX-License-Identifier: Apache-2.0
// Wall time, GPU busy and idle time of every step.
//
// A step on the GPU runs from its first GPU work (work belongs to the step that launched it) to the first GPU work of
// the next step; the last step runs to the end of its GPU work or of its CPU annotation, whichever is later. So an
// asynchronous step is not cut where the CPU ran ahead. A step without GPU work keeps the range of its CPU annotation.
//
// What bounds it: the kernels unless the GPU is idle for 30% of it; then the launches, if for half of the idle time the
// next piece of work had not been launched yet.
#pragma once

#include "core/analysis/analysis.h"

#include <vector>

namespace fusescope {

// Parallel to trace.steps; one entry "all" over the whole trace when there are none.
[[nodiscard]] std::vector<StepStats> stepStats(const TraceStore& trace);

// The step after this one in its process; the number of steps, or more, after the last.
[[nodiscard]] std::size_t nextStep(const TraceStore& trace, std::size_t step) noexcept;

} // namespace fusescope
