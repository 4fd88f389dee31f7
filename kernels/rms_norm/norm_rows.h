// SPDX-License-Identifier: Apache-2.0
// The one implementation behind rms_norm and add_rms_norm: they differ by a residual that is added first.
#pragma once

#include "kernels/add_rms_norm/add_rms_norm.h"
#include "kernels/rms_norm/rms_norm.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// FsAddRmsNormForward, or FsRmsNormForward when `add` is false (`residual` and `sum` unused).
struct NormForward {
    FsAddRmsNormForward call;
    bool add;
};
FsStatus normForward(const NormForward& n, cudaStream_t stream);

/// FsAddRmsNormBackward, or FsRmsNormBackward when `add` is false (`dsum` unused, `sum` is x).
struct NormBackward {
    FsAddRmsNormBackward call;
    bool add;
};
FsStatus normBackwardWorkspace(const NormBackward& n, size_t& bytes);
FsStatus normBackward(const NormBackward& n, void* workspace, size_t workspaceBytes, cudaStream_t stream);

/// The element type of y and dy.
inline FsDtype promoted(FsDtype dtype, FsDtype weight) { return weight == FS_F32 ? FS_F32 : dtype; }

} // namespace fusescope::kernels
