// SPDX-License-Identifier: Apache-2.0
// The norms' backward for few rows, where a second launch for dweight would cost as much as all the rest: dweight needs
// nothing that dx computes (rstd is the forward's), so blocks of the same launch sum it up, reading dy and x once more.
#pragma once

#include "kernels/common/reduce.cuh"
#include "kernels/rms_norm/norm_backward.cuh"

namespace fusescope::kernels {

// Threads without an element of their own load the last one and drop it: skipping the loads made 1 to 4 rows half a
// microsecond slower.

/// Neighbouring vectors of columns that a block of so many threads sums up: whole sectors of every row, and many
/// blocks, but with large ones no more than run at a time.
inline int sliceVectorsOf(int threads) { return threads > 512 ? 8 : 4; }
constexpr int maxSliceVectors = 8;

/// dx of a row by a block of a thread or more a vector.
template <class X, class W, bool Add>
__device__ __forceinline__ void rowGradient(const NormBackwardArguments<X, W>& a, int64_t row) {
    using Y = Promoted<X, W>;
    constexpr int n = vecWidth<X>;
    __shared__ float scratch[32];
    const int64_t column = int64_t(threadIdx.x) * n;
    const bool inside = column < a.width;
    const int64_t from = inside ? column : a.width - n;
    const Vec<Y, n> dy = loadOnce<n>(a.dy.row(row) + from);
    const Vec<X, n> x = loadOnce<n>(a.x.row(row) + from);
    Vec<X, n> dsum;
    if constexpr (Add) dsum = loadOnce<n>(a.dsum.row(row) + from);
    const float r = __ldg(a.rstd + row);
    float g[n], dot = 0.f;
    scaled<X, W, n>(dy, loadShared<n>(a.weight + from), a.once, g);
#pragma unroll
    for (int i = 0; i < n; ++i) dot += g[i] * toFloat(x.e[i]);
    const float c = -sumBlock(inside ? dot : 0.f, scratch) * r * r * r * a.inverseWidth;
    if (inside) store<n>(a.dx.row(row) + column, gradient<X, n, Add>(g, x, r, c, dsum, a.once));
}

/// dweight of a slice of sliceVectors (a power of two up to 8) vectors: the threads are those by blockDim.x /
/// sliceVectors rows.
template <class X, class W>
__device__ __forceinline__ void columnSums(const NormBackwardArguments<X, W>& a, int64_t slice, int sliceVectors,
                                           W* dweight) {
    using Y = Promoted<X, W>;
    constexpr int n = vecWidth<X>, inFlight = 2;
    __shared__ float ofWarps[32][maxSliceVectors * n];
    const int columns = sliceVectors * n;
    const int vector = threadIdx.x % sliceVectors, lanes = blockDim.x / sliceVectors;
    const int64_t column = slice * columns + vector * n;
    const int64_t from = column < a.width ? column : a.width - n;
    float sums[n] = {};
    for (int64_t first = 0; first < a.rows; first += inFlight * lanes) {
        Vec<Y, n> dy[inFlight];
        Vec<X, n> x[inFlight];
        float r[inFlight];
        auto rowOf = [&](int u) { return first + u * lanes + threadIdx.x / sliceVectors; };
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            const int64_t row = rowOf(u) < a.rows ? rowOf(u) : a.rows - 1;
            dy[u] = loadOnce<n>(a.dy.row(row) + from);
            x[u] = loadOnce<n>(a.x.row(row) + from);
            r[u] = __ldg(a.rstd + row);
        }
#pragma unroll
        for (int u = 0; u < inFlight; ++u)
            if (rowOf(u) < a.rows) addWeighed<X, W, n>(dy[u], x[u], r[u], a.once, sums);
    }
    for (int distance = 16; distance >= sliceVectors; distance /= 2) {
#pragma unroll
        for (int i = 0; i < n; ++i) sums[i] += __shfl_xor_sync(0xffffffffu, sums[i], distance);
    }
    if (threadIdx.x % 32 < sliceVectors) {
#pragma unroll
        for (int i = 0; i < n; ++i) ofWarps[threadIdx.x / 32][vector * n + i] = sums[i];
    }
    __syncthreads();
    if (int(threadIdx.x) >= columns || slice * columns + threadIdx.x >= a.width) return;
    float sum = 0.f;
    for (int warp = 0; warp < int(blockDim.x) / 32; ++warp) sum += ofWarps[warp][threadIdx.x];
    dweight[slice * columns + threadIdx.x] = fromFloat<W>(sum);
}

/// Where dweight is wanted, a block for every slice of it (they take longer, so they come first); then a block for
/// every row. dx must not lie where dy or x do: other blocks may not have read those yet.
template <class X, class W, bool Add>
__global__ void __launch_bounds__(1024) normBackwardFew(NormBackwardArguments<X, W> a, int sliceVectors, W* dweight) {
    const int64_t slices = gridDim.x - a.rows;
    if (blockIdx.x < slices)
        columnSums<X, W>(a, blockIdx.x, sliceVectors, dweight);
    else
        rowGradient<X, W, Add>(a, blockIdx.x - slices);
}

} // namespace fusescope::kernels
