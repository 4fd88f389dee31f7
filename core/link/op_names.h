// SPDX-License-Identifier: Apache-2.0
// What the names of operators, annotations and Python frames say. Private to core/link.
#pragma once

#include "core/link/link.h"

#include <string>
#include <string_view>

namespace fusescope {

// "aten::mul" -> "mul"; a name without namespace is returned whole.
[[nodiscard]] std::string_view shortOpName(std::string_view op) noexcept;

// Rows the autograd engine records around a node of the backward graph: "autograd::engine::evaluate_function: X",
// "torch::autograd::AccumulateGrad". (The "XBackward0" row below is known by its Fwd thread id.)
[[nodiscard]] bool isEngineRow(std::string_view op) noexcept;
[[nodiscard]] bool isAccumulateGrad(std::string_view op) noexcept;
// Rows that wrap whole compiled graphs: their inside is of interest, not they.
[[nodiscard]] bool isCompiledWrapper(std::string_view op) noexcept;
// "autograd::engine::evaluate_function: MulBackward0" and "MulBackward0" -> "mul"; letters and digits in lower case.
[[nodiscard]] std::string forwardNameOf(std::string_view backward_node);
// "aten::_to_copy" -> "tocopy": comparable with forwardNameOf().
[[nodiscard]] std::string comparableName(std::string_view op);

// Unknown when the name says nothing.
[[nodiscard]] Phase phaseOfAnnotation(std::string_view name) noexcept; // "Optimizer.step#AdamW.step"
[[nodiscard]] Phase phaseOfPython(std::string_view name) noexcept;     // "loss_utils.py(49): ForCausalLMLoss"
[[nodiscard]] Phase phaseOfOp(std::string_view op) noexcept;           // "aten::nll_loss", "aten::_fused_adamw_"
[[nodiscard]] Phase phaseOfKernel(std::string_view kernel) noexcept;   // for kernels without an operator
[[nodiscard]] bool isRopePython(std::string_view name) noexcept;       // "apply_rotary_pos_emb", "rotate_half"

// "nn.Module: Qwen3Attention_0" -> "Qwen3Attention_0"; "" for any other row.
[[nodiscard]] std::string_view moduleFrameName(std::string_view name) noexcept;
// "Qwen3Attention_0" -> "Qwen3Attention".
[[nodiscard]] std::string_view moduleClass(std::string_view frame_name) noexcept;

// One spelling for operators that stand for each other in traces and exported graphs: "to", "view", "and" ...
[[nodiscard]] std::string canonicalOp(std::string_view op);

} // namespace fusescope
