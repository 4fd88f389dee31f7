// SPDX-License-Identifier: Apache-2.0
// The second half of a region's sums over rows.
#pragma once

#include "kernels/pointwise_chain/plan.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels::chain {

/// Adds what the blocks of the region's kernel have left, in their order, and rounds once. No rows: zeros.
FsStatus launchRowSums(const Plan& plan, cudaStream_t stream);

} // namespace fusescope::kernels::chain
