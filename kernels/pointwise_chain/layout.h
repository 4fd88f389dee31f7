// SPDX-License-Identifier: Apache-2.0
// The first half of a plan: what a call's tensors look like to a kernel.
#pragma once

#include "kernels/pointwise_chain/plan.h"

namespace fusescope::kernels::chain {

/// Fills in the plan's kind (pointwise or rows), its tensors, its rows and their width, with dimensions merged where
/// one stride spans them in every tensor, and what its reductions are. A sentence where the tensors do not fit the
/// program.
std::string layOut(const Program& program, const FsPointwiseChain& call, const Shapes& shapes, Plan& plan);

} // namespace fusescope::kernels::chain
