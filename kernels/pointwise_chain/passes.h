// SPDX-License-Identifier: Apache-2.0
// The passes that a region with row reductions makes over a row: one for each level of reductions, and one that writes.
#pragma once

#include "kernels/pointwise_chain/plan.h"
#include "kernels/pointwise_chain/program.h"

#include <vector>

namespace fusescope::kernels::chain {

struct Passes {
    /// Of each node: reductions one after another up to it, itself included.
    std::vector<int> level;
    /// Passes that reduce: 1 to `last`. Pass last + 1 writes.
    int last = 0;
    /// Of each pass (from 1): what it computes for each element, in order, and what of that it takes as an earlier pass
    /// has left it in registers. What is cheap is computed anew instead.
    std::vector<std::vector<int>> nodes, kept;
    /// Of each reduction, the one whose shared memory it takes, perhaps its own: between the passes of both there is a
    /// barrier more, after which nobody reads there.
    std::vector<int> scratch;
};

/// Needs the inputs' accesses and which reductions are trivial. `keeps`: a row's values stay in registers.
Passes passesOf(const Program& program, const Plan& plan, bool keeps);

} // namespace fusescope::kernels::chain
