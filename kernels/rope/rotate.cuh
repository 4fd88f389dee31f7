// SPDX-License-Identifier: Apache-2.0
// The rotation itself, on a thread's share of the two halves of a head: a from the first half, b from the second.
#pragma once

#include "kernels/common/heads.h"
#include "kernels/common/packed.cuh"
#include "kernels/common/quotient.cuh"

namespace fusescope::kernels {

/// FsHeads as kernels take them.
template <class T> struct Heads {
    T* data;
    int64_t batchStride, tokenStride, headStride;

    __device__ __forceinline__ T* token(int64_t b, int64_t t) const { return data + b * batchStride + t * tokenStride; }
};

template <class T> Heads<T> typed(const FsHeads& h) {
    return {static_cast<T*>(h.data), h.batch_stride, h.token_stride, h.head_stride};
}

/// FsRotary as kernels take them.
template <class T> struct Rotary {
    const T* cos;
    const T* sin;
    int64_t batchStride, tokenStride;

    __device__ __forceinline__ int64_t token(int64_t b, int64_t t) const { return b * batchStride + t * tokenStride; }
};

template <class T> Rotary<T> typed(const FsRotary& r) {
    return {static_cast<const T*>(r.cos), static_cast<const T*>(r.sin), r.batch_stride, r.token_stride};
}

/// A token's number split into batch and place in it.
__device__ __forceinline__ void splitToken(int64_t token, int64_t tokensOfBatch, int64_t& batch, int64_t& place) {
    batch = quotient(token, tokensOfBatch);
    place = token - batch * tokensOfBatch;
}

/// The columns of the tables that belong to a and b.
template <class T, int N> struct TableRow {
    Vec<T, N> cosA, cosB, sinA, sinB;

    /// From row `offset` of the tables, N columns from `column` on of either half.
    __device__ __forceinline__ void load(const Rotary<T>& r, int64_t offset, int column, int half) {
        cosA = loadShared<N>(r.cos + offset + column);
        cosB = loadShared<N>(r.cos + offset + column + half);
        sinA = loadShared<N>(r.sin + offset + column);
        sinB = loadShared<N>(r.sin + offset + column + half);
    }

    /// Stops the compiler from unpacking the tables once before a loop: in fp32 they take twice the registers, and
    /// unpacking costs one instruction an element.
    __device__ __forceinline__ void stayPacked() {
        for (Vec<T, N>* v : {&cosA, &cosB, &sinA, &sinB})
#pragma unroll
            for (int i = 0; i < v->pieces; ++i) {
                uint4& raw = v->piece(i);
                asm volatile("" : "+r"(raw.x), "+r"(raw.y), "+r"(raw.z), "+r"(raw.w));
            }
    }
};

/// Rounded after each product and after the sum.
template <bool Backward, class T, int N>
__device__ __forceinline__ void rotate(Vec<T, N>& a, Vec<T, N>& b, const TableRow<T, N>& t) {
    const Vec<T, N> straightA = multiply(a, t.cosA), straightB = multiply(b, t.cosB);
    const Vec<T, N> crossA = multiply(b, Backward ? t.sinB : t.sinA), crossB = multiply(a, Backward ? t.sinA : t.sinB);
    a = Backward ? add(straightA, crossA) : subtract(straightA, crossA);
    b = Backward ? subtract(straightB, crossB) : add(straightB, crossB);
}

/// In fp32, not rounded.
template <bool Backward, class T, int N>
__device__ __forceinline__ void rotate(float (&a)[N], float (&b)[N], const TableRow<T, N>& t) {
    float cosA[N], cosB[N], sinA[N], sinB[N];
    unpack(t.cosA, cosA);
    unpack(t.cosB, cosB);
    unpack(t.sinA, sinA);
    unpack(t.sinB, sinB);
#pragma unroll
    for (int i = 0; i < N; ++i) {
        const float x = a[i], y = b[i];
        a[i] = Backward ? x * cosA[i] + y * sinB[i] : x * cosA[i] - y * sinA[i];
        b[i] = Backward ? y * cosB[i] - x * sinA[i] : y * cosB[i] + x * sinB[i];
    }
}

/// One pair of elements, for the kernels of any size.
template <bool Backward, bool Once, class T>
__device__ __forceinline__ void rotatePair(float& a, float& b, const T* cos, const T* sin, int64_t i, int64_t half) {
    auto product = [](float x, T table) {
        const float p = __fmul_rn(x, toFloat(table));
        return Once ? p : rounded<T>(p);
    };
    const float straightA = product(a, cos[i]), straightB = product(b, cos[i + half]);
    const float crossA = product(b, sin[Backward ? i + half : i]), crossB = product(a, sin[Backward ? i : i + half]);
    a = Backward ? __fadd_rn(straightA, crossA) : __fsub_rn(straightA, crossA);
    b = Backward ? __fsub_rn(straightB, crossB) : __fadd_rn(straightB, crossB);
    if (Once) return;
    a = rounded<T>(a);
    b = rounded<T>(b);
}

} // namespace fusescope::kernels
