// SPDX-License-Identifier: Apache-2.0
// Vectors whose every product and sum is rounded to the element type, as framework operators leave them. For bf16 and
// fp16 two elements go through one instruction that rounds the exact result: the same bits as computing in fp32 and
// rounding that (24 bits are at least 2 * 11 + 2, so rounding twice changes nothing; results of bf16 below 2^-126
// excepted), at a quarter of the instructions. None of these is contracted to a fused multiply-add, fp32 neither.
#pragma once

#include "kernels/common/vector_io.cuh"

namespace fusescope::kernels {

template <class T> struct Packed;

template <> struct Packed<float> {
    using Type = float;
    static constexpr int elements = 1;
    static __device__ __forceinline__ float multiply(float a, float b) { return __fmul_rn(a, b); }
    static __device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
    static __device__ __forceinline__ float subtract(float a, float b) { return __fsub_rn(a, b); }
    static __device__ __forceinline__ float pack(const float* f) { return f[0]; }
    static __device__ __forceinline__ void unpack(float v, float* f) { f[0] = v; }
};

/// Two elements in one register, and the instructions that work on both.
template <class Two> struct PackedTwo {
    using Type = Two;
    static constexpr int elements = 2;
    static __device__ __forceinline__ Two multiply(Two a, Two b) { return __hmul2_rn(a, b); }
    static __device__ __forceinline__ Two add(Two a, Two b) { return __hadd2_rn(a, b); }
    static __device__ __forceinline__ Two subtract(Two a, Two b) { return __hsub2_rn(a, b); }
};

template <> struct Packed<F16> : PackedTwo<__half2> {
    static __device__ __forceinline__ Type pack(const float* f) { return __floats2half2_rn(f[0], f[1]); }
    static __device__ __forceinline__ void unpack(Type v, float* f) {
        const float2 both = __half22float2(v);
        f[0] = both.x;
        f[1] = both.y;
    }
};

template <> struct Packed<Bf16> : PackedTwo<__nv_bfloat162> {
    static __device__ __forceinline__ Type pack(const float* f) { return __floats2bfloat162_rn(f[0], f[1]); }
    static __device__ __forceinline__ void unpack(Type v, float* f) {
        const uint32_t bits = reinterpret_cast<const uint32_t&>(v);
        f[0] = __uint_as_float(bits << 16);
        f[1] = __uint_as_float(bits & 0xffff0000u);
    }
};

template <class T, int N, class F>
__device__ __forceinline__ Vec<T, N> zipPacked(const Vec<T, N>& a, const Vec<T, N>& b, F&& f) {
    using P = typename Packed<T>::Type;
    Vec<T, N> out;
#pragma unroll
    for (int i = 0; i < N / Packed<T>::elements; ++i)
        reinterpret_cast<P*>(out.e)[i] = f(reinterpret_cast<const P*>(a.e)[i], reinterpret_cast<const P*>(b.e)[i]);
    return out;
}

template <class T, int N> __device__ __forceinline__ Vec<T, N> multiply(const Vec<T, N>& a, const Vec<T, N>& b) {
    return zipPacked(a, b, [](auto x, auto y) { return Packed<T>::multiply(x, y); });
}

template <class T, int N> __device__ __forceinline__ Vec<T, N> add(const Vec<T, N>& a, const Vec<T, N>& b) {
    return zipPacked(a, b, [](auto x, auto y) { return Packed<T>::add(x, y); });
}

template <class T, int N> __device__ __forceinline__ Vec<T, N> subtract(const Vec<T, N>& a, const Vec<T, N>& b) {
    return zipPacked(a, b, [](auto x, auto y) { return Packed<T>::subtract(x, y); });
}

/// Rounds fp32 values to a vector of T.
template <class T, int N> __device__ __forceinline__ Vec<T, N> packed(const float (&f)[N]) {
    using P = typename Packed<T>::Type;
    constexpr int n = Packed<T>::elements;
    Vec<T, N> v;
#pragma unroll
    for (int i = 0; i < N / n; ++i) reinterpret_cast<P*>(v.e)[i] = Packed<T>::pack(f + i * n);
    return v;
}

/// All elements in fp32.
template <class T, int N> __device__ __forceinline__ void unpack(const Vec<T, N>& v, float (&f)[N]) {
    using P = typename Packed<T>::Type;
    constexpr int n = Packed<T>::elements;
#pragma unroll
    for (int i = 0; i < N / n; ++i) Packed<T>::unpack(reinterpret_cast<const P*>(v.e)[i], f + i * n);
}

} // namespace fusescope::kernels
