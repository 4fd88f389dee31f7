// SPDX-License-Identifier: Apache-2.0
// Second half of a sum over all rows (gradients of weights): the blocks of the first kernel leave partial sums in fp32,
// this one adds them in the order of the blocks and rounds once. No atomics, so repeated runs agree bit for bit.
#pragma once

#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/error.h"
#include "kernels/common/vector_io.cuh"

#include <cuda_runtime_api.h>

namespace fusescope::kernels {

constexpr int columnSumColumns = 32, columnSumLanes = 16;

/// What thread row threadIdx.y of columnSumLanes adds up of a column of partial [blocks][width].
template <class T>
__device__ __forceinline__ T sumOfColumn(const T* partial, int blocks, int64_t width, int64_t column) {
    constexpr int inFlight = 8; // the loop waits for memory, not for additions
    T sum = 0;
    for (int first = threadIdx.y; first < blocks; first += inFlight * columnSumLanes) {
        T loaded[inFlight];
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            const int b = first + u * columnSumLanes;
            loaded[u] = b < blocks ? __ldcg(partial + b * width + column) : T(0);
        }
#pragma unroll
        for (int u = 0; u < inFlight; ++u) sum += loaded[u];
    }
    return sum;
}

/// out[c] = sum over b of partial[b][c]; partial is [blocks][width].
template <class W>
__global__ void __launch_bounds__(512) sumColumns(const float* partial, int blocks, int64_t width, W* out) {
    __shared__ float scratch[columnSumLanes][columnSumColumns];
    awaitPreviousLaunch();
    const int64_t column = int64_t(blockIdx.x) * columnSumColumns + threadIdx.x;
    float sum = column < width ? sumOfColumn(partial, blocks, width, column) : 0.f;
    scratch[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= width) return;
    for (int i = 1; i < columnSumLanes; ++i) sum += scratch[i][threadIdx.x];
    out[column] = fromFloat<W>(sum);
}

/// After a kernel that calls allowNextLaunch().
template <class W>
FsStatus launchSumColumns(const float* partial, int blocks, int64_t width, W* out, cudaStream_t stream) {
    const unsigned grid = unsigned((width + columnSumColumns - 1) / columnSumColumns);
    return launchAfter(sumColumns<W>, grid, dim3(columnSumColumns, columnSumLanes), stream, "sum over rows", partial,
                       blocks, width, out);
}

} // namespace fusescope::kernels
