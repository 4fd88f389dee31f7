// SPDX-License-Identifier: Apache-2.0
// Module paths as torch.export wrote them over the years, brought to one spelling: "model.layers.0.self_attn".
#pragma once

#include <string>
#include <string_view>

namespace fusescope {

// "L['self'].layers.0" and "getattr(L['self'].layers, '0')" -> "layers.0"; "mlp@1" (a second call) -> "mlp".
[[nodiscard]] std::string cleanModulePath(std::string_view path);

// "torch.ops.aten.mul.Tensor" -> "aten::mul"; "_operator.add" -> "operator::add"; "math.trunc" -> "math::trunc".
[[nodiscard]] std::string profilerOpName(std::string_view target);

// Part after the last dot: the class of "transformers.models.qwen3.modeling_qwen3.Qwen3MLP".
[[nodiscard]] std::string_view lastComponent(std::string_view dotted) noexcept;

// The number a path component spells ("17"), or -1.
[[nodiscard]] long long layerNumber(std::string_view name) noexcept;

} // namespace fusescope
