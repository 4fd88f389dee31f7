// SPDX-License-Identifier: Apache-2.0
// From the element type that a call names to the type that its kernel is made for.
#pragma once

#include "kernels/common/abi.h"
#include "kernels/common/vector_io.cuh"

namespace fusescope::kernels {

template <class T> struct ElementType { using Type = T; };

/// Calls f(ElementType<T>).
template <class F> FsStatus withElementType(FsDtype dtype, F&& f) {
    switch (dtype) {
    case FS_F32: return f(ElementType<float>{});
    case FS_F16: return f(ElementType<F16>{});
    case FS_BF16: return f(ElementType<Bf16>{});
    }
    return FS_INVALID_ARGUMENT;
}

} // namespace fusescope::kernels
