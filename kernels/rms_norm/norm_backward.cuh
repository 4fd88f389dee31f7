// SPDX-License-Identifier: Apache-2.0
// What the kernels of the norms' backward share: their arguments, and the formulas with the framework's roundings.
#pragma once

#include "kernels/common/packed.cuh"
#include "kernels/common/rows.cuh"
#include "kernels/rms_norm/norm_types.cuh"

namespace fusescope::kernels {

template <class X, class W> struct NormBackwardArguments {
    Rows<const Promoted<X, W>> dy;
    Rows<const X> dsum, x;
    Rows<X> dx;
    const W* weight;
    const float* rstd;
    float* partial; // [gridDim.x][width], or null when dweight is not wanted
    int64_t rows;
    int64_t width;
    float inverseWidth;
    bool once;
};

/// dy * weight as the norm's input sees it.
template <class X, class W> __device__ __forceinline__ float scaled(float dy, float w, bool once) {
    const float g = dy * w;
    return once ? g : rounded<X>(g);
}

/// What a row adds to dweight.
template <class X, class W> __device__ __forceinline__ float weighed(float dy, float x, float r, bool once) {
    const float h = x * r;
    return once ? dy * h : rounded<Promoted<X, W>>(dy * rounded<X>(h));
}

/// The norm's gradient, and the residual's when there is one: two tensors of X in the framework, added in X.
template <class X, bool Add>
__device__ __forceinline__ X gradient(float g, float x, float r, float c, float dsum, bool once) {
    const float d = g * r + x * c;
    if constexpr (Add) return fromFloat<X>((once ? d : rounded<X>(d)) + dsum);
    return fromFloat<X>(d);
}

/// scaled() of a vector.
template <class X, class W, int N>
__device__ __forceinline__ void scaled(const Vec<Promoted<X, W>, N>& dy, const Vec<W, N>& w, bool once, float (&g)[N]) {
    if constexpr (std::is_same_v<X, W> && sizeof(X) == 2) {
        if (!once) {
            const Vec<X, N> rounded = multiply(dy, w);
#pragma unroll
            for (int i = 0; i < N; ++i) g[i] = toFloat(rounded.e[i]);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) g[i] = scaled<X, W>(toFloat(dy.e[i]), toFloat(w.e[i]), once);
}

/// weighed() of a vector, added to `sums`.
template <class X, class W, int N>
__device__ __forceinline__ void addWeighed(const Vec<Promoted<X, W>, N>& dy, const Vec<X, N>& x, float r, bool once,
                                           float (&sums)[N]) {
    if constexpr (std::is_same_v<X, W> && sizeof(X) == 2) {
        if (!once) {
            float h[N];
#pragma unroll
            for (int i = 0; i < N; ++i) h[i] = toFloat(x.e[i]) * r;
            const Vec<X, N> rounded = multiply(dy, packed<X, N>(h));
#pragma unroll
            for (int i = 0; i < N; ++i) sums[i] += toFloat(rounded.e[i]);
            return;
        }
    }
#pragma unroll
    for (int i = 0; i < N; ++i) sums[i] += weighed<X, W>(toFloat(dy.e[i]), toFloat(x.e[i]), r, once);
}

/// gradient() of a vector.
template <class X, int N, bool Add>
__device__ __forceinline__ Vec<X, N> gradient(const float (&g)[N], const Vec<X, N>& x, float r, float c,
                                              const Vec<X, N>& dsum, bool once) {
    float d[N];
#pragma unroll
    for (int i = 0; i < N; ++i) d[i] = g[i] * r + toFloat(x.e[i]) * c;
    if constexpr (Add) {
        const Vec<X, N> rounded = packed<X, N>(d);
#pragma unroll
        for (int i = 0; i < N; ++i) d[i] = (once ? d[i] : toFloat(rounded.e[i])) + toFloat(dsum.e[i]);
    }
    return packed<X, N>(d);
}

} // namespace fusescope::kernels
