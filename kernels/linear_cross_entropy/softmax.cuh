// SPDX-License-Identifier: Apache-2.0
// Softmax's arithmetic: a maximum and a sum that take values as they come, and their union over a block.
#pragma once

#include "kernels/common/vector_io.cuh"

#include <cfloat>
#include <cmath>
#include <type_traits>

namespace fusescope::kernels {

/// exp(d) for d <= 0. Half-precision logits get the hardware's exp2: it errs by 2^-21, their rounding by 2^-12. The
/// difference from the maximum is taken first, so that a large offset common to all logits costs nothing.
template <class T> __device__ __forceinline__ float exponential(float d) {
    if constexpr (std::is_same_v<T, float>) return expf(d);
    float e;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(e) : "f"(d * 1.4426950408889634f));
    return e;
}

/// sum = sum of exp(z - maximum). The maximum starts at the least finite number: a row that begins with -inf stays
/// right, and one that has nothing else, or NaN or +inf, ends as NaN, as PyTorch's softmax does.
template <class T> struct OnlineSoftmax {
    float maximum = -FLT_MAX;
    float sum = 0.f;

    template <int N> __device__ __forceinline__ void take(const float (&z)[N]) {
        float most = z[0];
#pragma unroll
        for (int i = 1; i < N; ++i) most = fmaxf(most, z[i]);
        if (most > maximum) { // rare after the first few
            sum *= exponential<T>(maximum - most);
            maximum = most;
        }
        float added = 0.f;
#pragma unroll
        for (int i = 0; i < N; ++i) added += exponential<T>(z[i] - maximum);
        sum += added;
    }

    __device__ __forceinline__ void join(const OnlineSoftmax& other) {
        const float most = fmaxf(maximum, other.maximum);
        sum = sum * exponential<T>(maximum - most) + other.sum * exponential<T>(other.maximum - most);
        maximum = most;
    }
};

/// The union over `count` parts, the same for every thread that asks.
template <class T> __device__ __forceinline__ OnlineSoftmax<T> joined(const float2* parts, int count) {
    OnlineSoftmax<T> all;
    for (int i = 0; i < count; ++i) all.maximum = fmaxf(all.maximum, parts[i].x);
    for (int i = 0; i < count; ++i) all.sum += parts[i].y * exponential<T>(parts[i].x - all.maximum);
    return all;
}

/// The union over a block of whole warps; every thread gets it. `scratch` holds 32 pairs.
template <class T> __device__ __forceinline__ OnlineSoftmax<T> joinBlock(OnlineSoftmax<T> s, float2* scratch) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        s.join({__shfl_down_sync(0xffffffffu, s.maximum, distance), __shfl_down_sync(0xffffffffu, s.sum, distance)});
    if ((threadIdx.x & 31) == 0) scratch[threadIdx.x / 32] = make_float2(s.maximum, s.sum);
    __syncthreads();
    return joined<T>(scratch, blockDim.x / 32);
}

/// The fp32 logits of vector `vector` of a row; those beyond the row's columns are -inf, which adds nothing.
template <class T>
__device__ __forceinline__ void unpack(const Vec<T, vecWidth<T>>& v, int vector, int columns, float (&z)[vecWidth<T>]) {
    constexpr int n = vecWidth<T>;
#pragma unroll
    for (int i = 0; i < n; ++i) z[i] = toFloat(v.e[i]);
    if ((vector + 1) * n <= columns) return;
#pragma unroll
    for (int i = 0; i < n; ++i)
        if (vector * n + i >= columns) z[i] = -INFINITY;
}

/// Gradient of a vector of logits: factor * exp(z - maximum) with factor = scale / sum, less `scale` at the label.
template <class T>
__device__ __forceinline__ Vec<T, vecWidth<T>> gradientOf(const float (&z)[vecWidth<T>], float maximum, float factor,
                                                          float scale, int labelInVector) {
    constexpr int n = vecWidth<T>;
    float p[n];
#pragma unroll
    for (int i = 0; i < n; ++i) p[i] = exponential<T>(z[i] - maximum) * factor;
    if (labelInVector >= 0 && labelInVector < n) {
#pragma unroll
        for (int i = 0; i < n; ++i)
            if (i == labelInVector) p[i] -= scale;
    }
    Vec<T, n> out;
#pragma unroll
    for (int i = 0; i < n; ++i) out.e[i] = fromFloat<T>(p[i]);
    return out;
}

template <class T> __device__ __forceinline__ Vec<T, vecWidth<T>> zeros() {
    Vec<T, vecWidth<T>> out;
    out.piece(0) = make_uint4(0, 0, 0, 0);
    return out;
}

} // namespace fusescope::kernels
