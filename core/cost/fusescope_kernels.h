// SPDX-License-Identifier: Apache-2.0
// What a trace leaves out of the calls of FuseScope's own operators (torch.ops.fusescope.*), from their kernels' names
// and their callers. Private to core/cost.
#pragma once

#include "core/cost/cost.h"
#include "core/trace/op_args.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace fusescope {

[[nodiscard]] bool isOwnOp(std::string_view op) noexcept; // "fusescope::rms_norm"

// Types of the tensors inside an operator's lists, which a trace does not record.
struct ListTypes {
    DType type = DType::Unknown;
    DType state = DType::Unknown; // of an optimizer's moments
    auto operator<=>(const ListTypes&) const = default;
};
// adamw_: as its kernel's name has them ("adamwStep<__nv_bfloat16, float, 1>"). The projections' gradients take lists
// alone: as the autograd node around them has its tensors.
[[nodiscard]] ListTypes ownListTypes(const TraceStore& trace, CpuOpId op, std::string_view kernel);
void setOwnListTypes(std::string_view op, const ListTypes& types, std::vector<OpArg>& args);

[[nodiscard]] bool isOwnOptimizer(std::string_view kernel) noexcept;
// Of one launch, from its grid, where the lists are too long to be recorded. An upper bound: tensors rarely fill their
// last block, and models of a few million parameters have blocks of half the size.
[[nodiscard]] bool ownOptimizerCost(std::string_view kernel, std::uint32_t blocks, OpCost& cost);

// Whether a kernel below one of these operators multiplies matrices on the tensor cores.
[[nodiscard]] bool isOwnProduct(std::string_view kernel) noexcept;

} // namespace fusescope
