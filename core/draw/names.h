// SPDX-License-Identifier: Apache-2.0
// Short forms of the long names that profilers record, for boxes and tables. The full name belongs in the tooltip.
#pragma once

#include "core/graph/module_tree.h"

#include <string>
#include <string_view>

namespace fusescope {

// "void at::native::(anonymous namespace)::foo<4, at::Bar>(int)" -> "foo".
[[nodiscard]] std::string_view displayKernelName(std::string_view name) noexcept;
// With what a generic kernel does, where the name tells: "elementwise_kernel<MulFunctor>", "reduce_kernel<MeanOps>".
[[nodiscard]] std::string telltaleKernelName(std::string_view name);
// "aten::mul" -> "mul".
[[nodiscard]] std::string_view displayOpName(std::string_view name) noexcept;
// "torch/nn/modules/module.py(1775): _call_impl" -> "_call_impl"; "nn.Module: Qwen3MLP_0" -> "Qwen3MLP_0".
[[nodiscard]] std::string_view displayFrameName(std::string_view name) noexcept;
// How the tree, the graph and the path above it name a module: "self_attn"; a number with its list, "layers 3"; of
// identical layers all at once, "layers 0–35 ×36"; the root by its class.
[[nodiscard]] std::string displayModuleName(const ModuleTree& tree, ModuleId id, bool folded);
// "31.8%", "0.3%", "<0.1%": shares side by side read better with the same decimals than with the same digits.
[[nodiscard]] std::string shareText(double share);
// Last component of a path.
[[nodiscard]] std::string_view fileName(std::string_view path) noexcept;

} // namespace fusescope
