// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLASLt, in row-major terms: sums in fp32, no reduction in the element type.
#pragma once

#include "kernels/common/abi.h"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

/// An operand. `stride` is the distance in elements from one stored row to the next.
struct Matrix {
    const void* data;
    int64_t stride;
    bool transposed; ///< the matrix meant is the transpose of the one stored
};

/// d[rows][columns] = a[rows][depth] * b[depth][columns], or added to what d holds.
struct Gemm {
    int64_t rows;
    int64_t columns;
    int64_t depth;
    Matrix a;
    Matrix b;
    void* d;
    int64_t dStride;
    bool add;
    FsDtype dtype;
    bool tf32;  ///< fp32 operands may be rounded to TF32
    int choice; ///< which of cuBLASLt's suggestions to take, 0 the one it ranks first
};

/// Bytes of workspace that runGemm() needs for it. Asks cuBLASLt's heuristic once a shape, layout and device.
FsStatus gemmWorkspace(const Gemm& gemm, size_t& bytes);

/// Products that follow one another on a stream may share a workspace.
FsStatus runGemm(const Gemm& gemm, void* workspace, size_t workspaceBytes, cudaStream_t stream);

} // namespace fusescope::kernels
