// SPDX-License-Identifier: Apache-2.0
// The combinations of element types that the norms come in.
#pragma once

#include "kernels/common/abi.h"
#include "kernels/common/vector_io.cuh"

#include <type_traits>

namespace fusescope::kernels {

/// The type of y: a half-precision x with an fp32 weight promotes to fp32, as in PyTorch.
template <class X, class W> using Promoted = std::conditional_t<std::is_same_v<W, float>, float, X>;

template <class T> struct TypeTag { using Type = T; };

/// Calls f(TypeTag<X>, TypeTag<W>). The pair has been checked: W is X or fp32.
template <class F> FsStatus withNormTypes(FsDtype dtype, FsDtype weight, F&& f) {
    const bool wide = weight == FS_F32;
    switch (dtype) {
    case FS_F32: return f(TypeTag<float>{}, TypeTag<float>{});
    case FS_F16: return wide ? f(TypeTag<F16>{}, TypeTag<float>{}) : f(TypeTag<F16>{}, TypeTag<F16>{});
    case FS_BF16: return wide ? f(TypeTag<Bf16>{}, TypeTag<float>{}) : f(TypeTag<Bf16>{}, TypeTag<Bf16>{});
    }
    return FS_INVALID_ARGUMENT;
}

} // namespace fusescope::kernels
