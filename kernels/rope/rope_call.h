// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/rope/rope.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// Launches a call that has been checked and has something to do.
FsStatus launchRope(const FsRope& call, bool backward, cudaStream_t stream);

} // namespace fusescope::kernels
