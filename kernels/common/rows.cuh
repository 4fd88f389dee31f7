// SPDX-License-Identifier: Apache-2.0
// Rows on the device: FsRows with an element type.
#pragma once

#include "kernels/common/abi.h"
#include "kernels/common/quotient.cuh"

namespace fusescope::kernels {

/// FsRows as kernels take them. Where the two levels collapse into one (`inner` == 1), finding a row costs no division.
template <class T> struct Rows {
    T* data;
    int64_t inner;
    int64_t outerStride;
    int64_t innerStride;

    /// `Flat`: the caller has seen that `inner` is 1.
    template <bool Flat = false> __device__ __forceinline__ T* row(int64_t r) const {
        if (Flat || inner == 1) return data + r * outerStride;
        const int64_t o = quotient(r, inner);
        return data + o * outerStride + (r - o * inner) * innerStride;
    }
};

template <class T> Rows<T> typed(const FsRows& rows) {
    T* data = static_cast<T*>(rows.data);
    if (rows.inner == 1) return {data, 1, rows.outer_stride, 0};
    if (rows.outer == 1 || rows.outer_stride == rows.inner * rows.inner_stride) return {data, 1, rows.inner_stride, 0};
    return {data, rows.inner, rows.outer_stride, rows.inner_stride};
}

} // namespace fusescope::kernels
