// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.rope(q, k, cos, sin, unsqueeze_dim, fast), as transformers' apply_rotary_pos_emb: CUDA, CPU (the
// fp64 reference), Meta and Autograd. cos and sin get no gradient.
#include "kernels/common/torch_heads.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/rope/rope.h"
#include "kernels/rope/rope_ref.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

HeadsAt headsAt(int64_t unsqueezeDim) {
    TORCH_CHECK(unsqueezeDim == 1 || unsqueezeDim == 2, "rope: expected unsqueeze_dim 1 or 2, found ", unsqueezeDim);
    return unsqueezeDim == 1 ? HeadsAt::one : HeadsAt::two;
}

void checkShapes(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim) {
    checkHeadTensors("rope", q, k, cos, sin, headsAt(unsqueezeDim));
}

/// [batch, tokens, heads, head_dim] whichever way round tokens and heads are, and back again.
Tensor tokensBeforeHeads(const Tensor& t, int64_t unsqueezeDim) {
    return headsAt(unsqueezeDim) == HeadsAt::one ? t.transpose(1, 2) : t;
}

/// Dense, in the order of t's memory: a [B, H, S, D] view of [B, S, H, D] memory gives one such again.
Tensor outputOfForward(const Tensor& t) { return at::empty_like(t, at::MemoryFormat::Preserve); }

bool tokensOutermost(const Tensor& t, int64_t unsqueezeDim) {
    const int64_t tokens = unsqueezeDim == 1 ? 2 : 1, heads = unsqueezeDim;
    return t.sym_stride(tokens) >= t.sym_stride(heads);
}

/// Dense, with the tokens outside the heads in memory or the heads outside the tokens.
Tensor outputOfBackward(const Tensor& dy, int64_t unsqueezeDim, bool tokensFirst) {
    const bool swap = tokensFirst == (unsqueezeDim == 1);
    if (!swap) return at::empty_symint(dy.sym_sizes(), dy.options());
    return at::empty_symint(dy.transpose(1, 2).sym_sizes(), dy.options()).transpose(1, 2);
}

void runCuda(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, const Tensor& qOut,
             const Tensor& kOut, int64_t unsqueezeDim, bool fast, bool backward) {
    const HeadsAt at = headsAt(unsqueezeDim);
    const HeadTensor heads(q, at), headsOfK(k, at);
    const RotaryTensors tables(cos, sin);
    FsRope call{};
    call.q = heads.heads;
    call.k = headsOfK.heads;
    call.q_out = HeadTensor(qOut, at).heads;
    call.k_out = HeadTensor(kOut, at).heads;
    call.rotary = tables.rotary;
    call.batch = q.size(0);
    call.tokens = q.size(tokenDimension(at));
    call.head_dim = q.size(3);
    call.dtype = dtypeOf(q, "q");
    call.rounding = roundingOf(fast);
    checkCall(backward ? fusescope_rope_backward(&call, streamOf(q)) : fusescope_rope_forward(&call, streamOf(q)));
}

void runCpu(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& out, int64_t unsqueezeDim,
            bool backward) {
    Tensor x64 = asDouble(tokensBeforeHeads(x, unsqueezeDim));
    const int64_t batch = x64.size(0), tokens = batch * x64.size(1);
    const Tensor cos64 = tableAsDouble(cos, batch), sin64 = tableAsDouble(sin, batch), out64 = at::empty_like(x64);
    (backward ? reference::ropeBackward : reference::ropeForward)(x64.data_ptr<double>(), cos64.data_ptr<double>(),
                                                                  sin64.data_ptr<double>(), tokens, x64.size(2),
                                                                  x64.size(3), out64.data_ptr<double>());
    tokensBeforeHeads(out, unsqueezeDim).copy_(out64);
}

Pair forwardMeta(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim, bool) {
    checkShapes(q, k, cos, sin, unsqueezeDim);
    return {outputOfForward(q), outputOfForward(k)};
}

Pair backwardMeta(const Tensor& dq, const Tensor& dk, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                  bool qTokensFirst, bool kTokensFirst, bool) {
    checkShapes(dq, dk, cos, sin, unsqueezeDim);
    return {outputOfBackward(dq, unsqueezeDim, qTokensFirst), outputOfBackward(dk, unsqueezeDim, kTokensFirst)};
}

Pair forwardCuda(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                 bool fast) {
    checkShapes(q, k, cos, sin, unsqueezeDim);
    const c10::cuda::CUDAGuard guard(q.device());
    Pair out{emptyCudaLike(q), emptyCudaLike(k)};
    runCuda(q, k, cos, sin, std::get<0>(out), std::get<1>(out), unsqueezeDim, fast, false);
    return out;
}

Pair backwardCuda(const Tensor& dq, const Tensor& dk, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                  bool qTokensFirst, bool kTokensFirst, bool fast) {
    const c10::cuda::CUDAGuard guard(dq.device());
    Pair out = backwardMeta(dq, dk, cos, sin, unsqueezeDim, qTokensFirst, kTokensFirst, fast);
    runCuda(dq, dk, cos, sin, std::get<0>(out), std::get<1>(out), unsqueezeDim, fast, true);
    return out;
}

Pair forwardCpu(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                bool fast) {
    Pair out = forwardMeta(q, k, cos, sin, unsqueezeDim, fast);
    runCpu(q, cos, sin, std::get<0>(out), unsqueezeDim, false);
    runCpu(k, cos, sin, std::get<1>(out), unsqueezeDim, false);
    return out;
}

Pair backwardCpu(const Tensor& dq, const Tensor& dk, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                 bool qTokensFirst, bool kTokensFirst, bool fast) {
    Pair out = backwardMeta(dq, dk, cos, sin, unsqueezeDim, qTokensFirst, kTokensFirst, fast);
    runCpu(dq, cos, sin, std::get<0>(out), unsqueezeDim, true);
    runCpu(dk, cos, sin, std::get<1>(out), unsqueezeDim, true);
    return out;
}

Pair callForward(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                 bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::rope");
    return op.call(q, k, cos, sin, unsqueezeDim, fast);
}

Pair callBackward(const Tensor& dq, const Tensor& dk, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                  bool qTokensFirst, bool kTokensFirst, bool fast) {
    static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::rope_backward");
    return op.call(dq, dk, cos, sin, unsqueezeDim, qTokensFirst, kTokensFirst, fast);
}

struct Rope : torch::autograd::Function<Rope> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& q,
                                                  const Tensor& k, const Tensor& cos, const Tensor& sin,
                                                  int64_t unsqueezeDim, bool fast) {
        checkShapes(q, k, cos, sin, unsqueezeDim);
        const at::AutoDispatchBelowADInplaceOrView guard;
        auto [qOut, kOut] = callForward(q, k, cos, sin, unsqueezeDim, fast);
        context->save_for_backward({cos, sin});
        context->saved_data["unsqueeze_dim"] = unsqueezeDim;
        // The gradients are laid out as q and k are, so that what made those need not copy.
        context->saved_data["q_tokens_first"] = tokensOutermost(q, unsqueezeDim);
        context->saved_data["k_tokens_first"] = tokensOutermost(k, unsqueezeDim);
        context->saved_data["fast"] = fast;
        return {qOut, kOut};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        auto& data = context->saved_data;
        auto [dq, dk] =
            callBackward(gradients[0], gradients[1], saved[0], saved[1], data["unsqueeze_dim"].toInt(),
                         data["q_tokens_first"].toBool(), data["k_tokens_first"].toBool(), data["fast"].toBool());
        return {dq, dk, {}, {}, {}, {}};
    }
};

Pair withGradient(const Tensor& q, const Tensor& k, const Tensor& cos, const Tensor& sin, int64_t unsqueezeDim,
                  bool fast) {
    if (wantsGradient(q, k)) {
        const auto out = Rope::apply(q, k, cos, sin, unsqueezeDim, fast);
        return {out[0], out[1]};
    }
    const at::AutoDispatchBelowADInplaceOrView below;
    return callForward(q, k, cos, sin, unsqueezeDim, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("rope(Tensor q, Tensor k, Tensor cos, Tensor sin, int unsqueeze_dim=1, bool fast=False)"
          " -> (Tensor q_embed, Tensor k_embed)");
    m.def("rope_backward(Tensor dq_embed, Tensor dk_embed, Tensor cos, Tensor sin, int unsqueeze_dim,"
          " bool q_tokens_first, bool k_tokens_first, bool fast) -> (Tensor dq, Tensor dk)");
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("rope", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("rope", forwardCuda);
    m.impl("rope_backward", backwardCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("rope", forwardCpu);
    m.impl("rope_backward", backwardCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("rope", meta<forwardMeta>);
    m.impl("rope_backward", meta<backwardMeta>);
}

} // namespace
} // namespace fusescope::kernels
