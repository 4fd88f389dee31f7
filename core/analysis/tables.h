// SPDX-License-Identifier: Apache-2.0
// The kernel and operator tables of the analysed step(s).
#pragma once

#include "core/analysis/analysis.h"

namespace fusescope {

// True when a kernel counts: it belongs to the analysed step, or to any step with all_steps, or the trace has no steps.
[[nodiscard]] bool inAnalysedSteps(const Analysis& analysis, KernelId kernel);

void fillKernelTable(Analysis& analysis); // needs trace, link, device, step
void fillOpTable(Analysis& analysis);     // needs kernel_costs too; fills ops and op_of_kernel
void fillModuleStats(Analysis& analysis); // needs link; times when there is a trace

} // namespace fusescope
