// SPDX-License-Identifier: Apache-2.0
#include "core/link/op_kind.h"

#include "core/link/fusescope_ops.h"
#include "core/link/op_names.h"

namespace fusescope {

std::string_view nameOf(OpKind kind) noexcept {
    switch (kind) {
    case OpKind::Attention: return "attention";
    case OpKind::Matmul: return "matmul";
    case OpKind::Norm: return "norm";
    case OpKind::Rope: return "rope";
    case OpKind::Mlp: return "MLP";
    case OpKind::Elementwise: return "elementwise";
    case OpKind::Copy: return "copy";
    case OpKind::Embedding: return "embedding";
    case OpKind::Loss: return "loss";
    case OpKind::Optimizer: return "optimizer";
    case OpKind::Communication: return "communication";
    case OpKind::Other: return "other";
    }
    return "other";
}

std::string_view nameOf(Direction direction) noexcept {
    switch (direction) {
    case Direction::Forward: return "forward";
    case Direction::Backward: return "backward";
    case Direction::Optimizer: return "optimizer";
    case Direction::Other: return "other";
    }
    return "other";
}

namespace {

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

bool isMatrixOp(std::string_view op) noexcept {
    return op == "mm" || op == "bmm" || op == "addmm" || op == "baddbmm" || op == "linear" || op == "matmul" ||
           op == "addmv" || op == "mv" || op == "_scaled_mm" || op == "einsum" || op == "_grouped_mm";
}

// Names that only mean attention, whoever wrote the kernel.
bool isAttentionName(std::string_view text) noexcept {
    return has(text, "scaled_dot_product") || has(text, "flash_attn") || has(text, "flash_attention") ||
           has(text, "flash_fwd") || has(text, "flash_bwd") || has(text, "fmha") || has(text, "efficient_attention") ||
           has(text, "cudnn_attention") || has(text, "sdpa");
}

OpKind kindOfKernelName(std::string_view kernel) noexcept {
    if (kernel.empty()) return OpKind::Other;
    if (has(kernel, "nccl")) return OpKind::Communication;
    if (const std::optional<OpKind> own = kindOfOwnKernel(kernel)) return *own;
    if (isAttentionName(kernel)) return OpKind::Attention;
    if (has(kernel, "nll_loss") || has(kernel, "cross_entropy")) return OpKind::Loss;
    if (has(kernel, "multi_tensor_apply") || has(kernel, "adam")) return OpKind::Optimizer;
    if (has(kernel, "gemm") || has(kernel, "nvjet") || has(kernel, "cutlass") || has(kernel, "Gemm"))
        return OpKind::Matmul;
    if (has(kernel, "rms_norm") || has(kernel, "rmsnorm") || has(kernel, "RMSNorm") || has(kernel, "layer_norm"))
        return OpKind::Norm;
    if (has(kernel, "rope") || has(kernel, "rotary")) return OpKind::Rope;
    if (has(kernel, "Memcpy") || has(kernel, "Memset") || has(kernel, "copy")) return OpKind::Copy;
    if (has(kernel, "elementwise") || has(kernel, "triton_poi")) return OpKind::Elementwise;
    return OpKind::Other;
}

// Inductor puts the fused operators' names into the kernel's: the heaviest of them names the kind.
OpKind kindOfTriton(std::string_view name) noexcept {
    if (has(name, "log_softmax") || has(name, "nll_loss")) return OpKind::Loss;
    if (has(name, "embedding")) return OpKind::Embedding;
    if (has(name, "rsqrt") || has(name, "mean_mul_pow") || has(name, "rms_norm")) return OpKind::Norm;
    if (has(name, "silu") || has(name, "gelu")) return OpKind::Mlp;
    if (has(name, "softmax")) return OpKind::Attention;
    if (has(name, "cos") || has(name, "neg")) return OpKind::Rope;
    return OpKind::Elementwise;
}

bool isCopyOp(std::string_view op) noexcept {
    return op == "copy_" || op == "to" || op == "_to_copy" || op == "clone" || op == "contiguous" || op == "cat" ||
           op == "stack" || op == "fill_" || op == "zero_" || op == "zeros" || op == "index_select" ||
           op == "reshape" || op == "slice_backward" || op == "_local_scalar_dense" || op == "_reshape_copy";
}

} // namespace

OpKind kindOf(std::string_view op, std::string_view module_type, Direction direction,
              std::string_view kernel_name) noexcept {
    if (has(kernel_name, "nccl") || op.rfind("nccl:", 0) == 0 || op.rfind("c10d::", 0) == 0)
        return OpKind::Communication;
    if (direction == Direction::Optimizer) return OpKind::Optimizer;
    if (op.empty()) return kindOfKernelName(kernel_name);

    if (op.rfind("triton_", 0) == 0) return kindOfTriton(op);
    if (const std::optional<OpKind> own = kindOfOwnOp(op)) return *own;
    const std::string_view name = shortOpName(op);
    if (isAttentionName(name)) return OpKind::Attention;
    if (has(name, "_fused_adam") || has(name, "_fused_sgd") || has(name, "_foreach_")) return OpKind::Optimizer;
    if (has(name, "nll_loss") || has(name, "log_softmax") || has(name, "cross_entropy")) return OpKind::Loss;
    if (has(name, "embedding")) return OpKind::Embedding;
    if (isMatrixOp(name)) return has(module_type, "Attention") ? OpKind::Attention : OpKind::Matmul;
    if (has(name, "rms_norm") || has(name, "layer_norm") || has(name, "RMSNorm") || has(name, "LayerNorm"))
        return OpKind::Norm;

    // The rest is elementwise, reduction or movement: the module says what for.
    if (has(module_type, "Norm")) return OpKind::Norm;
    if (has(module_type, "Rotary")) return OpKind::Rope;
    if (has(module_type, "Embedding")) return OpKind::Embedding;
    if (has(module_type, "Loss")) return OpKind::Loss;
    if (has(module_type, "MLP") || has(module_type, "SiLU") || has(module_type, "GELU") ||
        has(module_type, "Activation"))
        return OpKind::Mlp;
    if (has(name, "softmax")) return OpKind::Attention;
    if (has(name, "silu") || has(name, "gelu")) return OpKind::Mlp;
    if (isCopyOp(name)) return OpKind::Copy;
    if (has(module_type, "Attention")) return OpKind::Attention;
    return OpKind::Elementwise;
}

} // namespace fusescope
