// SPDX-License-Identifier: Apache-2.0
// Rows of accumulators (wgmma.cuh) to memory, 16 bytes a lane.
#pragma once

#include "kernels/attention/wgmma.cuh"

#include <cstdint>

namespace fusescope::kernels::hopper {

/// A step of transposing four words of four lanes: lanes without the bit give their second for the other's first.
template <int Bit> __device__ __forceinline__ void exchange(uint32_t& first, uint32_t& second, int quarter) {
    const bool upper = (quarter & Bit) != 0;
    const uint32_t other = __shfl_xor_sync(~0u, upper ? first : second, Bit);
    (upper ? first : second) = other;
}

/// Stores row r (0: lane / 4 of the warp's, 1: that + 8) of N / 4 times 8 columns, times a factor. All lanes of a warp
/// call it; `row` is where the row starts, and is written where `real`.
template <class T, int N>
__device__ __forceinline__ void storeRow(T* row, const float (&sums)[N], int r, float factor, bool real) {
    const int quarter = int(threadIdx.x) % 4;
    T* const to = row + 8 * quarter;
#pragma unroll
    for (int i = 0; i < N / 4; i += 4) { // 32 columns: a lane has 2 of each 8, and after the exchange 8 of one
        uint32_t word[4];
#pragma unroll
        for (int j = 0; j < 4; ++j)
            word[j] = roundPair<T>(sums[4 * (i + j) + 2 * r] * factor, sums[4 * (i + j) + 2 * r + 1] * factor);
        exchange<1>(word[0], word[1], quarter);
        exchange<1>(word[2], word[3], quarter);
        exchange<2>(word[0], word[2], quarter);
        exchange<2>(word[1], word[3], quarter);
        if (real) *reinterpret_cast<uint4*>(to + 8 * i) = make_uint4(word[0], word[1], word[2], word[3]);
    }
}

} // namespace fusescope::kernels::hopper
