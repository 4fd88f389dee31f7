// SPDX-License-Identifier: Apache-2.0
// What an attention operator computes, beyond its cost.
#pragma once

#include "core/base/tensor.h"

#include <span>
#include <string_view>

namespace fusescope {

// The mask (or bias) that a fused attention operator reads, where it is not told to be causal besides: every score is
// computed then, and hidden where the mask says so. Null: none, causal, or no such operator.
// op: "aten::scaled_dot_product_attention"; inputs in schema order, as a trace has them.
[[nodiscard]] const TensorMeta* attentionMask(std::string_view op, std::span<const OpArg> inputs);

} // namespace fusescope
