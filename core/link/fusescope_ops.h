// SPDX-License-Identifier: Apache-2.0
// FuseScope's own operators (torch.ops.fusescope.*, kernels/README.md) and their kernels, as a trace of a training that
// uses them names them. Private to core/link.
#pragma once

#include "core/link/op_kind.h"

#include <optional>
#include <string_view>

namespace fusescope {

// "fusescope::rms_norm_backward" -> Norm. Nothing for other operators and for pointwise_chain, which may be anything.
[[nodiscard]] std::optional<OpKind> kindOfOwnOp(std::string_view op) noexcept;
// "void fusescope::kernels::(anonymous namespace)::ropeVectors<...>(...)" -> Rope. Nothing for other kernels.
[[nodiscard]] std::optional<OpKind> kindOfOwnKernel(std::string_view kernel) noexcept;
// Whether it multiplies matrices, as aten::linear does.
[[nodiscard]] bool isOwnProjection(std::string_view op) noexcept;
// The loss with its projection: no operator before it computes a part of the loss.
[[nodiscard]] bool isOwnLoss(std::string_view op) noexcept;
[[nodiscard]] bool isOwnAttention(std::string_view op) noexcept;

} // namespace fusescope
