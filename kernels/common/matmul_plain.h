// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/common/matmul.h"

namespace fusescope::kernels {

/// The product without any library: slow and always right, for what cuBLASLt has no algorithm for.
FsStatus matmulPlain(const Matmul& product, cudaStream_t stream);

} // namespace fusescope::kernels
