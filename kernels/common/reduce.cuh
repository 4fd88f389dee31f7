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

/// Sum over a block of whole warps; every thread gets it. `scratch` holds 32 floats; calls that follow one another must
/// alternate between two of them, then one barrier a call is enough.
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

} // namespace fusescope::kernels
