// SPDX-License-Identifier: Apache-2.0
// silu and its slope with the bits of PyTorch's kernels: expf and correctly rounded quotients.
#pragma once

#include "kernels/swiglu/elementwise.cuh"

#include <type_traits>

namespace fusescope::kernels {

/// Quotients by d = 1 + exp(-x), rounded to nearest. The compiler's division tests its operands and branches for each
/// element, since far from 1 its short sequence (reciprocal, one step of Newton, remainder) is not exact. Below this
/// |x| the operands are never far: d < 2^116, and where x is tiny d is 2. So the sequence is spelled out and the test
/// is made once for a pack of elements; 1 / d serves two quotients in the backward.
constexpr float nearLimit = 80.f;

/// Whether every gate of the pack is so; NaN is not. Half-precision magnitudes are compared as integers, two at a time:
/// a sum reaches its highest bit when the magnitude reaches the limit.
template <class T, int N> __device__ __forceinline__ bool allNear(const Vec<T, N>& gate) {
    if constexpr (sizeof(T) == 4) {
        bool near = true;
#pragma unroll
        for (int i = 0; i < N; ++i) near = near && fabsf(gate.e[i]) < nearLimit;
        return near;
    } else {
        constexpr uint32_t limit = std::is_same_v<T, F16> ? 0x5500 : 0x42a0; // 80
        constexpr uint32_t rest = (0x8000 - limit) * 0x10001;
        uint32_t far = 0;
#pragma unroll
        for (int i = 0; i < Vec<T, N>::pieces; ++i) {
            const uint4& p = gate.piece(i);
            for (uint32_t two : {p.x, p.y, p.z, p.w}) far |= (two & 0x7fff7fff) + rest;
        }
        return (far & 0x80008000) == 0;
    }
}
template <class T> __device__ __forceinline__ bool allNear(const Single<T>& gate) {
    return fabsf(toFloat(gate.e[0])) < nearLimit;
}

template <bool Near> struct Divider;

template <> struct Divider<false> {
    float d;
    __device__ __forceinline__ explicit Divider(float divisor) : d(divisor) {}
    __device__ __forceinline__ float operator()(float x) const { return __fdiv_rn(x, d); }
    __device__ __forceinline__ float reciprocal() const { return __frcp_rn(d); }
};

template <> struct Divider<true> {
    float d, inverse;
    __device__ __forceinline__ explicit Divider(float divisor) : d(divisor) {
        asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(d));
        inverse = __fmaf_rn(inverse, __fmaf_rn(-d, inverse, 1.f), inverse);
    }
    __device__ __forceinline__ float operator()(float x) const {
        const float q = __fmul_rn(x, inverse);
        // The remainder with its sign turned: x = -0 keeps its sign.
        return __fmaf_rn(-__fmaf_rn(d, q, -x), inverse, q);
    }
    __device__ __forceinline__ float reciprocal() const { return inverse; }
};

/// The values after a round trip through T. Two at a time take one conversion; one alone takes a slower unit.
template <class T, int N> __device__ __forceinline__ void roundAll(float (&v)[N]) {
    if constexpr (std::is_same_v<T, float>) return;
    if constexpr (N == 1) {
        v[0] = rounded<T>(v[0]);
    } else {
#pragma unroll
        for (int i = 0; i < N; i += 2) {
            float2 two;
            if constexpr (std::is_same_v<T, F16>)
                two = __half22float2(__floats2half2_rn(v[i], v[i + 1]));
            else
                two = __bfloat1622float2(__floats2bfloat162_rn(v[i], v[i + 1]));
            v[i] = two.x;
            v[i + 1] = two.y;
        }
    }
}

/// h of N elements.
template <bool Near, class T, int N>
__device__ __forceinline__ void swigluOf(const T (&gate)[N], const T (&up)[N], bool once, T (&h)[N]) {
    float silu[N];
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const float x = toFloat(gate[i]);
        silu[i] = Divider<Near>(1.f + expf(-x))(x);
    }
    if (!once) roundAll<T>(silu);
#pragma unroll
    for (int i = 0; i < N; ++i) h[i] = fromFloat<T>(silu[i] * toFloat(up[i]));
}

/// dgate and dup of N elements.
template <bool Near, class T, int N>
__device__ __forceinline__ void swigluGradients(const T (&dh)[N], const T (&gate)[N], const T (&up)[N], bool once,
                                                T (&dgate)[N], T (&dup)[N]) {
    float silu[N], slope[N], dsilu[N];
#pragma unroll
    for (int i = 0; i < N; ++i) dsilu[i] = toFloat(dh[i]) * toFloat(up[i]);
    if (!once) roundAll<T>(dsilu);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const float x = toFloat(gate[i]);
        const Divider<Near> over(1.f + expf(-x));
        const float s = over.reciprocal();
        silu[i] = over(x);
        slope[i] = dsilu[i] * s * __fmaf_rn(x, 1.f - s, 1.f);
    }
    if (!once) roundAll<T>(silu);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        dgate[i] = fromFloat<T>(slope[i]);
        dup[i] = fromFloat<T>(toFloat(dh[i]) * silu[i]);
    }
}

} // namespace fusescope::kernels
