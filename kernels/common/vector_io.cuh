// SPDX-License-Identifier: Apache-2.0
// Elements, their fp32 values, and 16-byte accesses. Memory-bound kernels reach the bus only with 16 bytes a thread,
// several of them in flight before the first is used.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace fusescope::kernels {

using Bf16 = __nv_bfloat16;
using F16 = __half;

__device__ __forceinline__ float toFloat(float v) { return v; }
__device__ __forceinline__ float toFloat(F16 v) { return __half2float(v); }
__device__ __forceinline__ float toFloat(Bf16 v) { return __bfloat162float(v); }

/// Round to nearest even, as PyTorch's casts do.
template <class T> __device__ __forceinline__ T fromFloat(float v);
template <> __device__ __forceinline__ float fromFloat<float>(float v) { return v; }
template <> __device__ __forceinline__ F16 fromFloat<F16>(float v) { return __float2half_rn(v); }
template <> __device__ __forceinline__ Bf16 fromFloat<Bf16>(float v) { return __float2bfloat16_rn(v); }

/// The fp32 value after a round trip through T: what the framework's next operator would read.
template <class T> __device__ __forceinline__ float rounded(float v) { return toFloat(fromFloat<T>(v)); }

/// N elements (a multiple of 16 bytes), moved in accesses of 16 bytes.
template <class T, int N> struct alignas(16) Vec {
    static_assert(sizeof(T) * N % 16 == 0);
    static constexpr int pieces = int(sizeof(T)) * N / 16;
    T e[N];

    __device__ __forceinline__ uint4& piece(int i) { return reinterpret_cast<uint4*>(this)[i]; }
    __device__ __forceinline__ const uint4& piece(int i) const { return reinterpret_cast<const uint4*>(this)[i]; }
};

/// Elements of T in 16 bytes.
template <class T> inline constexpr int vecWidth = 16 / int(sizeof(T));

/// Loads what this kernel reads once, past L1 (measured on an H200: with L1::no_allocate instead, 6% of the bandwidth
/// is lost).
template <int N, class T> __device__ __forceinline__ Vec<T, N> loadOnce(const T* p) {
    Vec<T, N> v;
#pragma unroll
    for (int i = 0; i < v.pieces; ++i) v.piece(i) = __ldcg(reinterpret_cast<const uint4*>(p) + i);
    return v;
}

/// Loads what other blocks read too (weights, rotary tables).
template <int N, class T> __device__ __forceinline__ Vec<T, N> loadShared(const T* p) {
    Vec<T, N> v;
#pragma unroll
    for (int i = 0; i < v.pieces; ++i) v.piece(i) = __ldg(reinterpret_cast<const uint4*>(p) + i);
    return v;
}

/// Stores in pieces of 16 bytes. Written in PTX, since the compiler sometimes splits the assignment of a uint4 into
/// four stores of 4 bytes.
template <int N, class T> __device__ __forceinline__ void store(T* p, const Vec<T, N>& v) {
#pragma unroll
    for (int i = 0; i < v.pieces; ++i) {
        const uint4 raw = v.piece(i);
        asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(reinterpret_cast<uint4*>(p) + i), "r"(raw.x),
                     "r"(raw.y), "r"(raw.z), "r"(raw.w));
    }
}

} // namespace fusescope::kernels
