// SPDX-License-Identifier: Apache-2.0
// Sums over lanes, warps and blocks, in an order that depends on the launch shape alone (bit-identical when repeated).
#pragma once

namespace fusescope::kernels {

/// Sum over groups of Lanes neighbouring lanes (a power of two <= 32); every lane gets it.
template <int Lanes> __device__ __forceinline__ float sumLanes(float v) {
#pragma unroll
    for (int distance = Lanes / 2; distance > 0; distance /= 2) v += __shfl_xor_sync(0xffffffffu, v, distance);
    return v;
}

/// Sum over a block of whole warps; every thread gets it. `scratch` holds 32 floats and may be used again after the
/// next barrier of the block.
__device__ __forceinline__ float sumBlock(float v, float* scratch) {
    v = sumLanes<32>(v);
    const int warps = blockDim.x / 32;
    if (warps == 1) return v;
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    float total = 0.f;
    for (int w = 0; w < warps; ++w) total += scratch[w];
    return total;
}

/// Waits for the `threads` threads (whole warps) of a block that name the same barrier, 1 to 15.
__device__ __forceinline__ void barrierOf(int barrier, int threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Sum over one of several groups of `threads` threads (whole warps) in a block; thread `t` of the group calls. Calls
/// that follow one another must alternate between two `scratch` of threads / 32 floats.
__device__ __forceinline__ float sumGroup(float v, int t, int threads, int barrier, float* scratch) {
    v = sumLanes<32>(v);
    if (threads == 32) return v;
    if ((t & 31) == 0) scratch[t / 32] = v;
    barrierOf(barrier, threads);
    float total = 0.f;
    for (int w = 0; w < threads / 32; ++w) total += scratch[w];
    return total;
}

} // namespace fusescope::kernels
