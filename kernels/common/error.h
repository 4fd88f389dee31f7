// SPDX-License-Identifier: Apache-2.0
// How the operators report failures: a status, and a sentence kept for fusescope_last_error().
#pragma once

#include "kernels/common/abi.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// Clears the sentence of this thread; the first line of every interface function.
void beginCall();

/// Keeps the sentence (printf's format, cut at 400 characters) and returns the status.
[[gnu::format(printf, 2, 3)]] FsStatus fail(FsStatus status, const char* format, ...);

/// FS_OK, or FS_CUDA_ERROR with what CUDA says of `what`.
FsStatus check(cudaError_t error, const char* what);

/// After a launch: what cudaGetLastError() has to say.
FsStatus checkLaunch(const char* kernel);

} // namespace fusescope::kernels
