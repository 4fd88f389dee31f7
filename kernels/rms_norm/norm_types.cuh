// SPDX-License-Identifier: Apache-2.0
// The combinations of element types that the norms come in.
#pragma once

#include "kernels/common/element_types.cuh"

#include <type_traits>

namespace fusescope::kernels {

/// The type of y: a half-precision x with an fp32 weight promotes to fp32, as in PyTorch.
template <class X, class W> using Promoted = std::conditional_t<std::is_same_v<W, float>, float, X>;

/// Calls f(ElementType<X>, ElementType<W>). The pair has been checked: W is X or fp32.
template <class F> FsStatus withNormTypes(FsDtype dtype, FsDtype weight, F&& f) {
    const bool wide = weight == FS_F32;
    switch (dtype) {
    case FS_F32: return f(ElementType<float>{}, ElementType<float>{});
    case FS_F16: return wide ? f(ElementType<F16>{}, ElementType<float>{}) : f(ElementType<F16>{}, ElementType<F16>{});
    case FS_BF16:
        return wide ? f(ElementType<Bf16>{}, ElementType<float>{}) : f(ElementType<Bf16>{}, ElementType<Bf16>{});
    }
    return FS_INVALID_ARGUMENT;
}

} // namespace fusescope::kernels
