// SPDX-License-Identifier: Apache-2.0
// Softmax along the way: scores to weights, with the greatest score and the sum of each row.
#pragma once

#include "kernels/attention/wgmma.cuh"

#include <cmath>
#include <cstdint>

namespace fusescope::kernels::hopper {

__device__ __forceinline__ float powerOfTwo(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

/// Combines what the four lanes of a row have.
template <class F> __device__ __forceinline__ float acrossRow(float x, F&& f) {
    x = f(x, __shfl_xor_sync(~0u, x, 1));
    return f(x, __shfl_xor_sync(~0u, x, 2));
}

/// The two rows of a thread: the greatest score so far, and the sum of the weights that this thread has seen.
struct Rows {
    float greatest[2], sum[2];
};

/// Scores to weights, 2^(scaleLog2 * (score - greatest)), and their sums; `shrink` is what earlier sums and products
/// have to be multiplied with. Hidden: a row may have seen no key yet.
template <bool First, bool Hidden, int N>
__device__ __forceinline__ void weigh(float (&s)[N], Rows& rows, float (&shrink)[2], float scaleLog2) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
        for (int i = 1; i < N / 4; ++i) {
            even = fmaxf(even, s[4 * i + 2 * r]);
            odd = fmaxf(odd, s[4 * i + 2 * r + 1]);
        }
        float greatest = acrossRow(fmaxf(even, odd), [](float x, float y) { return fmaxf(x, y); });
        if (!First) greatest = fmaxf(greatest, rows.greatest[r]);
        // Products rounded, not fused with the subtraction: where the greatest stays, shrink is 1 and nothing drifts.
        const float base = Hidden && greatest == -INFINITY ? 0.f : __fmul_rn(greatest, scaleLog2);
        if (!First) shrink[r] = powerOfTwo(__fmul_rn(rows.greatest[r], scaleLog2) - base);
        rows.greatest[r] = greatest;
#pragma unroll
        for (int i = 0; i < N / 4; ++i) {
            s[4 * i + 2 * r] = powerOfTwo(fmaf(s[4 * i + 2 * r], scaleLog2, -base));
            s[4 * i + 2 * r + 1] = powerOfTwo(fmaf(s[4 * i + 2 * r + 1], scaleLog2, -base));
        }
        even = s[2 * r], odd = s[2 * r + 1];
#pragma unroll
        for (int i = 1; i < N / 4; ++i) {
            even += s[4 * i + 2 * r];
            odd += s[4 * i + 2 * r + 1];
        }
        rows.sum[r] = First ? even + odd : fmaf(rows.sum[r], shrink[r], even + odd);
    }
}

template <class T, int N> __device__ __forceinline__ void roundWeights(const float (&s)[N], uint32_t (&p)[N / 2]) {
#pragma unroll
    for (int i = 0; i < N / 2; ++i) p[i] = roundPair<T>(s[2 * i], s[2 * i + 1]);
}

__device__ __forceinline__ void scaleSums(float (&o)[64], const float (&shrink)[2]) {
#pragma unroll
    for (int i = 0; i < 64; i += 4) {
        o[i] *= shrink[0];
        o[i + 1] *= shrink[0];
        o[i + 2] *= shrink[1];
        o[i + 3] *= shrink[1];
    }
}

/// Keeps the wait that follows behind the weights. It does not depend on them, so the compiler would move it before
/// them, and nothing would be computed beside the product; but it keeps waits behind stores. This one, of a sum that is
/// infinite, does not happen.
__device__ __forceinline__ void stayBefore(const Rows& rows, uint32_t unused) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.eq.f32 p, %0, 0f7F800000;\n"
                 "@p st.shared.f32 [%1], %0;\n"
                 "}\n" ::"f"(rows.sum[0] + rows.sum[1]),
                 "r"(unused)
                 : "memory");
}

} // namespace fusescope::kernels::hopper
