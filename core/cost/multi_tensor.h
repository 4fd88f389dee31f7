// SPDX-License-Identifier: Apache-2.0
// What the name and grid of a kernel tell where the operator's arguments do not. Private to core/cost.
#pragma once

#include "core/cost/cost.h"

#include <cstdint>
#include <string_view>

namespace fusescope {

// Element type of a list operator's tensors, read off its kernel: the trace records no types inside lists.
// "...FusedAdamMathFunctor<c10::BFloat16, 4, ...>", "CatArrayBatchedCopy<...OpaqueType<2u>, ...>". Unknown if it says
// nothing.
[[nodiscard]] DType listTypeOf(std::string_view kernel) noexcept;

[[nodiscard]] bool isMultiTensor(std::string_view kernel) noexcept;
// Cost of one multi_tensor_apply kernel from its functor and its grid: a block works on a chunk of 65,536 elements
// (ATen's MultiTensorApply.cuh). An upper bound where the last chunk of a tensor is not full. False if the functor is
// unknown.
[[nodiscard]] bool multiTensorCost(std::string_view kernel, std::uint32_t blocks, OpCost& cost);

} // namespace fusescope
