// SPDX-License-Identifier: Apache-2.0
// What a piece of GPU work is for. One kind, one colour, in every view and in the report.
#pragma once

#include <cstdint>
#include <string_view>

namespace fusescope {

enum class OpKind : std::uint8_t {
    Attention,
    Matmul,
    Norm,
    Rope,
    Mlp,
    Elementwise,
    Copy,
    Embedding,
    Loss,
    Optimizer,
    Communication,
    Other,
};
[[nodiscard]] std::string_view nameOf(OpKind kind) noexcept; // "attention", "matmul" ...

enum class Direction : std::uint8_t { Forward, Backward, Optimizer, Other };
[[nodiscard]] std::string_view nameOf(Direction direction) noexcept; // "forward" ...

// op: leaf operator ("aten::mm"); module_type: class of its module ("Qwen3RMSNorm"), may be empty;
// kernel_name: fallback when there is no op.
[[nodiscard]] OpKind kindOf(std::string_view op, std::string_view module_type, Direction direction,
                            std::string_view kernel_name) noexcept;

} // namespace fusescope
