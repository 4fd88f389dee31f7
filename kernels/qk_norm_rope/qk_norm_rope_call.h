// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/qk_norm_rope/qk_norm_rope.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

// Calls that have been checked.

/// Has something to do.
FsStatus launchQkNormRopeForward(const FsQkNormRopeForward& call, cudaStream_t stream);

FsStatus qkNormRopeBackwardBytes(const FsQkNormRopeBackward& call, size_t& bytes);
FsStatus launchQkNormRopeBackward(const FsQkNormRopeBackward& call, void* workspace, size_t workspaceBytes,
                                  cudaStream_t stream);

} // namespace fusescope::kernels
