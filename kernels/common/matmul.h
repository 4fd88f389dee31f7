// SPDX-License-Identifier: Apache-2.0
// Matrix products by cuBLASLt, for operators that work on what a product gives or takes.
#pragma once

#include "kernels/common/abi.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// c = alpha * op(a) * op(b) + beta * c, column-major as cuBLAS has it: op(a) is m x k, op(b) is k x n, c is m x n.
/// Products and sums are fp32 (never tf32); c is rounded once, when it is written.
struct Matmul {
    bool transposeA = false;
    bool transposeB = false;
    int64_t m = 0, n = 0, k = 0;
    const void* a = nullptr;
    int64_t lda = 0;
    const void* b = nullptr;
    int64_t ldb = 0;
    void* c = nullptr;
    int64_t ldc = 0;
    FsDtype input = FS_BF16;  ///< of a and b
    FsDtype output = FS_BF16; ///< of c: `input` or fp32
    float alpha = 1.f;
    float beta = 0.f;
};

/// What cuBLASLt's heuristic may choose to use; more does not make Hopper's products quicker.
constexpr size_t matmulWorkspace = size_t{32} << 20;

/// The algorithm is the heuristic's first choice, remembered for each device and shape, so a repeated product is
/// bit-identical. The first product on a device makes a cuBLASLt handle, which is kept.
FsStatus matmul(const Matmul& product, void* workspace, size_t workspaceBytes, cudaStream_t stream);

} // namespace fusescope::kernels
