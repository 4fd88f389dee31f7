// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLASLt, in row-major terms: products and sums in fp32, no reduction in the element type.
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

/// d[rows][columns] = alpha * a[rows][depth] * b[depth][columns], or added to what d holds. d is rounded once, when it
/// is written.
struct Matmul {
    int64_t rows;
    int64_t columns;
    int64_t depth;
    Matrix a;
    Matrix b;
    void* d;
    int64_t dStride;
    bool add;
    FsDtype input;  ///< of a and b
    FsDtype output; ///< of d: `input` or fp32
    float alpha = 1.f;
    bool tf32;  ///< fp32 operands may be rounded to TF32
    int choice; ///< which of cuBLASLt's suggestions to take, 0 the one it ranks first
};

/// The most workspace that a product needs: what NVIDIA advises for Hopper, more makes none quicker.
constexpr size_t mostMatmulWorkspace = size_t{32} << 20;

/// Bytes of workspace that matmul() needs for it. Asks cuBLASLt's heuristic once a shape, layout and device.
FsStatus matmulWorkspace(const Matmul& product, size_t& bytes);

/// The algorithm is remembered for each device, shape and layout, so a repeated product is bit-identical; where
/// cuBLASLt has none, a plain kernel takes its place. Products that follow one another on a stream may share a
/// workspace. The first on a device makes a cuBLASLt handle, which is kept.
FsStatus matmul(const Matmul& product, void* workspace, size_t workspaceBytes, cudaStream_t stream);

} // namespace fusescope::kernels
