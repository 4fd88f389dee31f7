// SPDX-License-Identifier: Apache-2.0
// A region's operators one after another in fp64 on the CPU: what the kernels are compared with.
#pragma once

#include "kernels/pointwise_chain/program.h"

#include <vector>

namespace fusescope::kernels::reference {

/// `inputs` are contiguous. With `round`, every result is rounded to its type, as the framework does; without, only
/// results of integer and bool types are. Integers wrap around at the width of their type; beyond 2^53 they are not
/// exact.
std::vector<std::vector<double>> pointwiseChain(const chain::Program& program, const chain::Shapes& shapes,
                                                const std::vector<const double*>& inputs, bool round);

} // namespace fusescope::kernels::reference
