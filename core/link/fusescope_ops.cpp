// SPDX-License-Identifier: Apache-2.0
#include "core/link/fusescope_ops.h"

#include <array>

namespace fusescope {
namespace {

struct Row {
    std::string_view begin;
    OpKind kind;
};

// How the names of operators begin: the autograd functions call "rms_norm_forward", "rms_norm_backward" below them.
constexpr std::array kOps{
    Row{"rms_norm", OpKind::Norm},
    Row{"add_rms_norm", OpKind::Norm},
    Row{"qk_norm_rope", OpKind::Norm}, // the norms are the heavier half
    Row{"rope", OpKind::Rope},
    Row{"swiglu", OpKind::Mlp},
    Row{"attention", OpKind::Attention},
    Row{"linear_cross_entropy", OpKind::Loss},
    Row{"adamw_", OpKind::Optimizer},
    Row{"packed_projection", OpKind::Matmul},
    Row{"qkv_projection", OpKind::Matmul},
    Row{"gate_up_projection", OpKind::Matmul},
};

// How the names of kernels go on after "fusescope::kernels::...::".
constexpr std::array kKernels{
    Row{"attentionHopper<", OpKind::Attention},
    Row{"attentionBackwardHopper<", OpKind::Attention},
    Row{"attentionWithoutKeys<", OpKind::Attention},
    Row{"prepareRows<", OpKind::Attention},
    Row{"finishQueries<", OpKind::Attention},
    Row{"clearHeads(", OpKind::Attention},
    Row{"normNarrow<", OpKind::Norm},
    Row{"normBlock<", OpKind::Norm},
    Row{"normPlain<", OpKind::Norm},
    Row{"normBackward", OpKind::Norm},
    Row{"sumColumns<", OpKind::Norm}, // of the weights' gradients
    Row{"qkNormRope", OpKind::Norm},
    Row{"sumWeightGradients<", OpKind::Norm},
    Row{"ropeVectors<", OpKind::Rope},
    Row{"ropePlain<", OpKind::Rope},
    Row{"swigluForward<", OpKind::Mlp},
    Row{"swigluBackward<", OpKind::Mlp},
    Row{"statistics<", OpKind::Loss},
    Row{"softmaxGradient<", OpKind::Loss},
    Row{"gradient<", OpKind::Loss},
    Row{"countLabels(", OpKind::Loss},
    Row{"sumLoss(", OpKind::Loss},
    Row{"roundElements<", OpKind::Loss},
    Row{"scaleByLoss<", OpKind::Loss},
    Row{"adamwStep<", OpKind::Optimizer},
    Row{"product<", OpKind::Matmul},
    Row{"rowSums(", OpKind::Elementwise}, // of a chain's gradients
};

bool startsWith(std::string_view text, std::string_view part) noexcept { return text.substr(0, part.size()) == part; }

// "rms_norm" of "fusescope::rms_norm"; empty for another library's operators.
std::string_view ownName(std::string_view op) noexcept {
    constexpr std::string_view space = "fusescope::";
    return startsWith(op, space) ? op.substr(space.size()) : std::string_view{};
}

} // namespace

std::optional<OpKind> kindOfOwnOp(std::string_view op) noexcept {
    const std::string_view name = ownName(op);
    if (name.empty()) return std::nullopt;
    for (const Row& row : kOps)
        if (startsWith(name, row.begin)) return row.kind;
    return std::nullopt;
}

std::optional<OpKind> kindOfOwnKernel(std::string_view kernel) noexcept {
    if (kernel == "fusescope_region") return OpKind::Elementwise; // of pointwise_chain
    constexpr std::string_view space = "fusescope::kernels::";
    const std::size_t at = kernel.find(space);
    // In front stands the result's type alone: in the arguments of another library's kernel the name means nothing.
    if (at != 0 && (at == std::string_view::npos || kernel.substr(0, at) != "void ")) return std::nullopt;
    std::string_view name = kernel.substr(at + space.size());
    for (const std::string_view inner : {"chain::", "hopper::backward::", "(anonymous namespace)::"})
        if (startsWith(name, inner)) name.remove_prefix(inner.size());
    for (const Row& row : kKernels)
        if (startsWith(name, row.begin)) return row.kind;
    return std::nullopt;
}

bool isOwnProjection(std::string_view op) noexcept { return kindOfOwnOp(op) == OpKind::Matmul; }
bool isOwnLoss(std::string_view op) noexcept { return kindOfOwnOp(op) == OpKind::Loss; }
bool isOwnAttention(std::string_view op) noexcept { return kindOfOwnOp(op) == OpKind::Attention; }

} // namespace fusescope
