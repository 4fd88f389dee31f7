// SPDX-License-Identifier: Apache-2.0
// An optimizer that is not fused: many kernels in the optimizer's phase, for each parameter (for-loop) or for each
// operation on the list of parameters (foreach).
#include "core/fusion/matchers.h"

#include <algorithm>

namespace fusescope::fusion {
namespace {

// A fused optimizer takes one operator and one for its step counters; foreach takes a dozen.
constexpr std::size_t kFewestOps = 6;

} // namespace

void matchOptimizer(const StepOps& trace, Matches& out) {
    const bool fused = std::any_of(out.found.begin(), out.found.end(),
                                   [](const Match& match) { return match.pattern == Pattern::Optimizer; });
    if (fused || trace.by_kernel_name) return;
    Match match;
    match.pattern = Pattern::Optimizer;
    bool foreach_ops = false;
    for (std::size_t i = 0; i < trace.work.size(); ++i) {
        const StepOp& op = *trace.at(i);
        if (op.kernels.empty() || trace.link().kernels[op.kernels.front().index()].phase != Phase::Optimizer) continue;
        foreach_ops = foreach_ops || trace.nameOf(op).find("_foreach_") != std::string_view::npos;
        takeOne(trace, i, match);
    }
    if (match.ops.size() < kFewestOps) return;
    match.note = std::to_string(match.ops.size()) + " operators with " + std::to_string(match.kernels.size()) +
                 (foreach_ops ? " kernels, over lists of parameters (foreach)" : " kernels, parameter by parameter");
    out.found.push_back(std::move(match));
}

} // namespace fusescope::fusion
