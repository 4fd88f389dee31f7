// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.attention_hopper(q, k, v, causal, scale, backward) -> (out, lse): our own forward kernel for
// compute capability 9.0, with the gradients of the `backward` named: "own", torch.ops.fusescope.
// attention_hopper_backward_atomic(dout, q, k, v, out, lse, causal, scale) -> (dq, dk, dv), whose dq repeats but for
// its last bits, or "cudnn" or "flash", which take its lse. It stands behind attention(backend="hopper").
#include "kernels/attention/attention_backward_hopper.h"
#include "kernels/attention/attention_hopper.h"
#include "kernels/attention/attention_torch.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"

#include <ATen/Context.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

/// Heads in the order [batch, token, head] of memory.
Tensor headsLike(const Tensor& t) {
    return at::empty_symint(t.transpose(1, 2).sym_sizes(), t.options()).transpose(1, 2);
}

/// lse is [batch, head, token].
Pair forwardMeta(const Tensor& q, const Tensor&, const Tensor&, bool, double, c10::string_view) {
    return {headsLike(q), at::empty_symint(q.sym_sizes().slice(0, 3), q.options().dtype(at::kFloat))};
}

Triple backwardMeta(const Tensor&, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor&, const Tensor&,
                    bool, double) {
    return {headsLike(q), headsLike(k), headsLike(v)};
}

void setStrides(int64_t (&strides)[3], const Tensor& t) {
    strides[0] = t.stride(0);
    strides[1] = t.stride(2);
    strides[2] = t.stride(1);
}

/// q, k or v as the kernel's 16-byte copies take it: itself, or a copy. A compiled graph may bring other strides and
/// addresses than the ones it was traced with.
Tensor forCopies(const Tensor& t) {
    const int64_t step = 16 / t.element_size();
    bool fits = t.stride(3) == 1 && reinterpret_cast<uintptr_t>(t.const_data_ptr()) % 16 == 0;
    for (int64_t d = 0; d < 3; ++d) fits = fits && (t.size(d) <= 1 || (t.stride(d) > 0 && t.stride(d) % step == 0));
    return fits ? t : t.clone(at::MemoryFormat::Contiguous);
}

/// What attention() has checked, and other callers have not.
void checkHeads(const Tensor& q, const Tensor& k, const Tensor& v) {
    const auto fits = [&](const Tensor& t) {
        return t.dim() == 4 && t.device() == q.device() && t.scalar_type() == q.scalar_type() &&
               t.size(0) == q.size(0) && t.size(3) == q.size(3) && t.sizes() == k.sizes();
    };
    TORCH_CHECK(q.dim() == 4 && fits(k) && fits(v), "attention_hopper: q, k and v do not fit each other");
}

/// What the calls of both passes have in common.
template <class Call>
void describe(Call& call, const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale) {
    call.q = q.const_data_ptr();
    call.k = k.const_data_ptr();
    call.v = v.const_data_ptr();
    setStrides(call.q_stride, q);
    setStrides(call.k_stride, k);
    setStrides(call.v_stride, v);
    call.batch = q.size(0);
    call.q_heads = q.size(1);
    call.kv_heads = k.size(1);
    call.q_tokens = q.size(2);
    call.kv_tokens = k.size(2);
    call.head_dim = q.size(3);
    call.scale = static_cast<float>(scale);
    call.causal = causal;
    call.dtype = dtypeOf(q, "q");
}

Pair forwardCuda(const Tensor& givenQ, const Tensor& givenK, const Tensor& givenV, bool causal, double scale,
                 c10::string_view backward) {
    checkHeads(givenQ, givenK, givenV);
    const c10::cuda::CUDAGuard guard(givenQ.device());
    const Tensor q = forCopies(givenQ), k = forCopies(givenK), v = forCopies(givenV);
    Pair outputs = forwardMeta(q, k, v, causal, scale, backward);
    auto& [out, lse] = outputs;
    FsAttention call{};
    describe(call, q, k, v, causal, scale);
    call.out = out.data_ptr();
    call.lse = lse.data_ptr<float>();
    setStrides(call.out_stride, out);
    checkCall(fusescope_attention_hopper_forward(&call, streamOf(q)));
    return outputs;
}

Triple backwardCuda(const Tensor& givenDout, const Tensor& givenQ, const Tensor& givenK, const Tensor& givenV,
                    const Tensor& givenOut, const Tensor& givenLse, bool causal, double scale) {
    at::globalContext().alertNotDeterministic("attention_hopper_backward_atomic");
    checkHeads(givenQ, givenK, givenV);
    const auto fits = [&](const Tensor& t, at::IntArrayRef sizes, at::ScalarType type) {
        return t.device() == givenQ.device() && t.sizes() == sizes && t.scalar_type() == type;
    };
    const at::IntArrayRef sizes = givenQ.sizes();
    TORCH_CHECK(fits(givenDout, sizes, givenQ.scalar_type()) && fits(givenOut, sizes, givenQ.scalar_type()) &&
                    fits(givenLse, sizes.slice(0, 3), at::kFloat),
                "attention_hopper: out, lse and dout do not fit q");
    const c10::cuda::CUDAGuard guard(givenQ.device());
    const Tensor q = forCopies(givenQ), k = forCopies(givenK), v = forCopies(givenV), out = forCopies(givenOut),
                 dout = forCopies(givenDout), lse = givenLse.contiguous();
    Triple gradients = backwardMeta(dout, q, k, v, out, lse, causal, scale);
    auto& [dq, dk, dv] = gradients;
    FsAttentionBackward call{};
    describe(call, q, k, v, causal, scale);
    call.out = out.const_data_ptr();
    call.dout = dout.const_data_ptr();
    call.lse = lse.const_data_ptr<float>();
    call.dq = dq.data_ptr();
    call.dk = dk.data_ptr();
    call.dv = dv.data_ptr();
    setStrides(call.out_stride, out);
    setStrides(call.dout_stride, dout);
    setStrides(call.dq_stride, dq);
    setStrides(call.dk_stride, dk);
    setStrides(call.dv_stride, dv);
    callWithWorkspace(call, fusescope_attention_hopper_backward_atomic_workspace,
                      fusescope_attention_hopper_backward_atomic, q);
    return gradients;
}

Pair callForward(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                 c10::string_view backward) {
    static const auto op =
        operatorOf<Pair(const Tensor&, const Tensor&, const Tensor&, bool, double, c10::string_view)>(
            "fusescope::attention_hopper");
    return op.call(q, k, v, causal, scale, backward);
}

Triple callBackward(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out,
                    const Tensor& lse, bool causal, double scale) {
    static const auto op =
        operatorOf<Triple(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                          bool, double)>("fusescope::attention_hopper_backward_atomic");
    return op.call(dout, q, k, v, out, lse, causal, scale);
}

HopperBackward backwardNamed(c10::string_view name) {
    using enum HopperBackward;
    for (const HopperBackward backward : {own, cudnn, flash})
        if (std::string_view(name.data(), name.size()) == nameOf(backward)) return backward;
    TORCH_CHECK(false, "attention_hopper: backward is \"own\", \"cudnn\" or \"flash\", found \"", name, "\"");
}

struct Hopper : torch::autograd::Function<Hopper> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& q,
                                                  const Tensor& k, const Tensor& v, bool causal, double scale,
                                                  HopperBackward backward) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        const std::string_view name = nameOf(backward);
        auto [out, lse] = callForward(q, k, v, causal, scale, c10::string_view(name.data(), name.size()));
        context->save_for_backward({q, k, v, out, lse});
        context->mark_non_differentiable({lse});
        context->set_materialize_grads(false); // no zeros for lse; out may have no gradient either
        context->saved_data["causal"] = causal;
        context->saved_data["scale"] = scale;
        context->saved_data["backward"] = int64_t(backward);
        return {out, lse};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        if (!gradients[0].defined()) return torch::autograd::variable_list(6);
        const auto saved = context->get_saved_variables();
        const Tensor &dout = gradients[0], &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3],
                     &lse = saved[4];
        const bool causal = context->saved_data["causal"].toBool();
        const double scale = context->saved_data["scale"].toDouble();
        const auto kind = static_cast<HopperBackward>(context->saved_data["backward"].toInt());
        Triple all;
        if (kind == HopperBackward::own) {
            all = callBackward(dout, q, k, v, out, lse, causal, scale);
        } else {
            // Of the dropout that there is not.
            const Tensor seed = at::empty({2}, q.options().dtype(at::kLong)), offset = seed.select(0, 1);
            all = kind == HopperBackward::cudnn
                      ? at::_scaled_dot_product_cudnn_attention_backward_symint(
                            dout, q, k, v, out, lse.unsqueeze(-1), seed.select(0, 0), offset, {}, {}, {}, q.sym_size(2),
                            k.sym_size(2), 0.0, causal, scale)
                      : at::_scaled_dot_product_flash_attention_backward_symint(dout, q, k, v, out, lse, {}, {},
                                                                                q.sym_size(2), k.sym_size(2), 0.0,
                                                                                causal, seed, offset, scale);
        }
        return {std::get<0>(all), std::get<1>(all), std::get<2>(all), {}, {}, {}};
    }
};

Pair withGradient(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                  c10::string_view backward) {
    const HopperBackward kind = backwardNamed(backward);
    if (!wantsGradient(q, k, v)) {
        const at::AutoDispatchBelowADInplaceOrView below;
        return callForward(q, k, v, causal, scale, backward);
    }
    const auto out = Hopper::apply(q, k, v, causal, scale, kind);
    return {out[0], out[1]};
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("attention_hopper(Tensor q, Tensor k, Tensor v, bool causal, float scale, str backward)"
          " -> (Tensor out, Tensor lse)");
    m.def("attention_hopper_backward_atomic(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse,"
          " bool causal, float scale) -> (Tensor dq, Tensor dk, Tensor dv)");
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("attention_hopper", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("attention_hopper", forwardCuda);
    m.impl("attention_hopper_backward_atomic", backwardCuda);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("attention_hopper", meta<forwardMeta>);
    m.impl("attention_hopper_backward_atomic", meta<backwardMeta>);
}

} // namespace

Tensor hopperAttention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                       HopperBackward backward) {
    const std::string_view name = nameOf(backward);
    return std::get<0>(callForward(q, k, v, causal, scale, c10::string_view(name.data(), name.size())));
}

} // namespace fusescope::kernels
