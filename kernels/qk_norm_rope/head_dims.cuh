// SPDX-License-Identifier: Apache-2.0
// The instances that the kernels of qk_norm_rope come in.
#pragma once

#include "kernels/common/element_types.cuh"

#include <type_traits>

namespace fusescope::kernels {

/// Calls f(ElementType<T>, std::bool_constant<Once>).
template <class F> FsStatus withElementType(FsDtype dtype, FsRounding rounding, F&& f) {
    return withElementType(dtype, [&](auto type) {
        return rounding == FS_ROUND_ONCE ? f(type, std::true_type{}) : f(type, std::false_type{});
    });
}

/// Threads that share a head, each with one vector of either half; 0 where head_dim has no fast kernel.
template <class T> int lanesOf(int64_t headDim) {
    return headDim == 64 || headDim == 128 || headDim == 256 ? int(headDim) / (2 * vecWidth<T>) : 0;
}

/// Calls f(std::integral_constant<int, lanes>) for what lanesOf() gives.
template <class T, class F> FsStatus withLanes(int lanes, F&& f) {
    constexpr int least = 64 / (2 * vecWidth<T>);
    if (lanes == least) return f(std::integral_constant<int, least>{});
    if (lanes == 2 * least) return f(std::integral_constant<int, 2 * least>{});
    return f(std::integral_constant<int, 4 * least>{});
}

} // namespace fusescope::kernels
