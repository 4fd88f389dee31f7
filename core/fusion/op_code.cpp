// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/op_code.h"

#include <array>
#include <utility>

namespace fusescope::fusion {
namespace {

using Row = std::pair<std::string_view, OpCode>;

constexpr std::array kOps{
    Row{"_assert_tensor_metadata", OpCode::Ignored},
    Row{"sym_size", OpCode::Ignored},
    Row{"_assert_scalar", OpCode::Ignored},
    Row{"_assert_async", OpCode::Ignored},
    Row{"view", OpCode::View},
    Row{"_unsafe_view", OpCode::View},
    Row{"reshape", OpCode::View},
    Row{"_reshape_alias", OpCode::View},
    Row{"transpose", OpCode::View},
    Row{"permute", OpCode::View},
    Row{"t", OpCode::View},
    Row{"unsqueeze", OpCode::View},
    Row{"squeeze", OpCode::View},
    Row{"expand", OpCode::View},
    Row{"expand_as", OpCode::View},
    Row{"view_as", OpCode::View},
    Row{"flatten", OpCode::View},
    Row{"unflatten", OpCode::View},
    Row{"contiguous", OpCode::View},
    Row{"clone", OpCode::View},
    Row{"alias", OpCode::View},
    Row{"detach", OpCode::View},
    Row{"lift_fresh_copy", OpCode::View},
    Row{"lift_fresh", OpCode::View},
    Row{"repeat_interleave", OpCode::View},
    Row{"to", OpCode::Cast},
    Row{"_to_copy", OpCode::Cast},
    Row{"type_as", OpCode::Cast},
    Row{"convert_element_type", OpCode::Cast},
    Row{"float", OpCode::Cast},
    Row{"copy_", OpCode::Cast},
    Row{"dropout", OpCode::Dropout},
    Row{"native_dropout", OpCode::Dropout},
    Row{"slice", OpCode::Slice},
    Row{"narrow", OpCode::Slice},
    Row{"select", OpCode::Slice},
    Row{"split", OpCode::Split},
    Row{"split_with_sizes", OpCode::Split},
    Row{"chunk", OpCode::Split},
    Row{"cat", OpCode::Cat},
    Row{"concat", OpCode::Cat},
    Row{"add", OpCode::Add},
    Row{"add_", OpCode::Add},
    Row{"sub", OpCode::Sub},
    Row{"mul", OpCode::Mul},
    Row{"mul_", OpCode::Mul},
    Row{"div", OpCode::Div},
    Row{"div_", OpCode::Div},
    Row{"neg", OpCode::Neg},
    Row{"pow", OpCode::Pow},
    Row{"square", OpCode::Pow},
    Row{"mean", OpCode::Mean},
    Row{"rsqrt", OpCode::Rsqrt},
    Row{"sigmoid", OpCode::Sigmoid},
    Row{"silu", OpCode::Silu},
    Row{"softmax", OpCode::Softmax},
    Row{"_softmax", OpCode::Softmax},
    Row{"_safe_softmax", OpCode::Softmax},
    Row{"log_softmax", OpCode::LogSoftmax},
    Row{"_log_softmax", OpCode::LogSoftmax},
    Row{"linear", OpCode::Linear},
    Row{"mm", OpCode::Linear},
    Row{"addmm", OpCode::Linear},
    Row{"matmul", OpCode::Matmul},
    Row{"bmm", OpCode::Matmul},
    Row{"baddbmm", OpCode::Matmul},
    Row{"nll_loss", OpCode::NllLoss},
    Row{"nll_loss_nd", OpCode::NllLoss},
    Row{"nll_loss_forward", OpCode::NllLoss},
    Row{"cross_entropy_loss", OpCode::CrossEntropy},
    Row{"where", OpCode::Mask},
    Row{"masked_fill", OpCode::Mask},
    Row{"masked_fill_", OpCode::Mask},
    Row{"embedding", OpCode::Embedding},
};

// First hit counts: names of the functor inside an elementwise kernel before names of the kernel around it.
constexpr std::array kKernels{
    Row{"silu_backward", OpCode::Other},
    Row{"SoftMaxBackward", OpCode::Other},
    Row{"pow_tensor_scalar", OpCode::Pow},
    Row{"MeanOps", OpCode::Mean},
    Row{"rsqrt_kernel", OpCode::Rsqrt},
    Row{"silu_kernel", OpCode::Silu},
    Row{"sigmoid_kernel", OpCode::Sigmoid},
    Row{"neg_kernel", OpCode::Neg},
    Row{"CatArrayBatchedCopy", OpCode::Cat},
    Row{"CUDAFunctorOnSelf_add", OpCode::Add},
    Row{"CUDAFunctor_add", OpCode::Add},
    Row{"MulFunctor", OpCode::Mul},
    Row{"DivFunctor", OpCode::Div},
    Row{"direct_copy_kernel", OpCode::Cast},
    Row{"copy_kernel", OpCode::Cast},
    Row{"SoftMaxForward", OpCode::Softmax},
    Row{"softmax_warp_forward", OpCode::Softmax},
    Row{"nll_loss_forward", OpCode::NllLoss},
    Row{"nvjet", OpCode::Matmul},
    Row{"gemm", OpCode::Matmul},
    Row{"gemv", OpCode::Matmul},
    Row{"cutlass", OpCode::Matmul},
};

} // namespace

OpCode opCodeOf(std::string_view op) noexcept {
    const std::size_t colon = op.rfind("::");
    if (colon != std::string_view::npos) {
        // Only the framework's own operators: another library's "mul" may mean anything.
        const std::string_view space = op.substr(0, colon);
        if (space != "aten" && space != "prims" && space != "operator") return OpCode::Other;
        op.remove_prefix(colon + 2);
    }
    for (const auto& [name, code] : kOps)
        if (name == op) return code;
    return OpCode::Other;
}

OpCode opCodeOfKernel(std::string_view kernel) noexcept {
    if (kernel.substr(0, 7) == "triton_") return OpCode::Other; // compiled: known by its own name (fused_forms.cpp)
    for (const auto& [part, code] : kKernels)
        if (kernel.find(part) != std::string_view::npos) return code;
    return OpCode::Other;
}

} // namespace fusescope::fusion
