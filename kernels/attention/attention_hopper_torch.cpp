// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.attention_hopper(q, k, v, causal, scale, cudnn_backward) -> (out, lse): our own forward kernel
// for compute capability 9.0; the gradients come from the backward of cuDNN or of flash attention, which take its lse.
// It stands behind attention(backend="hopper").
#include "kernels/attention/attention_hopper.h"
#include "kernels/attention/attention_torch.h"
#include "kernels/common/torch_support.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

/// out in the order [batch, token, head] of memory; lse [batch, head, token].
Pair forwardMeta(const Tensor& q, const Tensor&, const Tensor&, bool, double, bool) {
    return {at::empty_symint(q.transpose(1, 2).sym_sizes(), q.options()).transpose(1, 2),
            at::empty_symint(q.sym_sizes().slice(0, 3), q.options().dtype(at::kFloat))};
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

Pair forwardCuda(const Tensor& givenQ, const Tensor& givenK, const Tensor& givenV, bool causal, double scale,
                 bool cudnnBackward) {
    const c10::cuda::CUDAGuard guard(givenQ.device());
    const Tensor q = forCopies(givenQ), k = forCopies(givenK), v = forCopies(givenV);
    Pair outputs = forwardMeta(q, k, v, causal, scale, cudnnBackward);
    auto& [out, lse] = outputs;
    FsAttention call{};
    call.q = q.const_data_ptr();
    call.k = k.const_data_ptr();
    call.v = v.const_data_ptr();
    call.out = out.data_ptr();
    call.lse = lse.data_ptr<float>();
    setStrides(call.q_stride, q);
    setStrides(call.k_stride, k);
    setStrides(call.v_stride, v);
    setStrides(call.out_stride, out);
    call.batch = q.size(0);
    call.q_heads = q.size(1);
    call.kv_heads = k.size(1);
    call.q_tokens = q.size(2);
    call.kv_tokens = k.size(2);
    call.head_dim = q.size(3);
    call.scale = static_cast<float>(scale);
    call.causal = causal;
    call.dtype = dtypeOf(q, "q");
    checkCall(fusescope_attention_hopper_forward(&call, streamOf(q)));
    return outputs;
}

Pair callForward(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale, bool cudnnBackward) {
    static const auto op = operatorOf<Pair(const Tensor&, const Tensor&, const Tensor&, bool, double, bool)>(
        "fusescope::attention_hopper");
    return op.call(q, k, v, causal, scale, cudnnBackward);
}

struct Hopper : torch::autograd::Function<Hopper> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& q,
                                                  const Tensor& k, const Tensor& v, bool causal, double scale,
                                                  bool cudnnBackward) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        auto [out, lse] = callForward(q, k, v, causal, scale, cudnnBackward);
        context->save_for_backward({q, k, v, out, lse});
        context->mark_non_differentiable({lse});
        context->set_materialize_grads(false); // no zeros for lse; out may have no gradient either
        context->saved_data["causal"] = causal;
        context->saved_data["scale"] = scale;
        context->saved_data["cudnn"] = cudnnBackward;
        return {out, lse};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        if (!gradients[0].defined()) return torch::autograd::variable_list(6);
        const auto saved = context->get_saved_variables();
        const Tensor &q = saved[0], &k = saved[1], &v = saved[2], &out = saved[3], &lse = saved[4];
        const bool causal = context->saved_data["causal"].toBool();
        const double scale = context->saved_data["scale"].toDouble();
        // Of the dropout that there is not.
        const Tensor seed = at::empty({2}, q.options().dtype(at::kLong)), offset = seed.select(0, 1);
        auto [dq, dk, dv] = context->saved_data["cudnn"].toBool()
                                ? at::_scaled_dot_product_cudnn_attention_backward_symint(
                                      gradients[0], q, k, v, out, lse.unsqueeze(-1), seed.select(0, 0), offset, {}, {},
                                      {}, q.sym_size(2), k.sym_size(2), 0.0, causal, scale)
                                : at::_scaled_dot_product_flash_attention_backward_symint(
                                      gradients[0], q, k, v, out, lse, {}, {}, q.sym_size(2), k.sym_size(2), 0.0,
                                      causal, seed, offset, scale);
        return {dq, dk, dv, {}, {}, {}};
    }
};

Pair withGradient(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale, bool cudnnBackward) {
    if (!wantsGradient(q, k, v)) {
        const at::AutoDispatchBelowADInplaceOrView below;
        return callForward(q, k, v, causal, scale, cudnnBackward);
    }
    const auto out = Hopper::apply(q, k, v, causal, scale, cudnnBackward);
    return {out[0], out[1]};
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("attention_hopper(Tensor q, Tensor k, Tensor v, bool causal, float scale, bool cudnn_backward)"
          " -> (Tensor out, Tensor lse)");
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("attention_hopper", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) { m.impl("attention_hopper", forwardCuda); }
TORCH_LIBRARY_IMPL(fusescope, Meta, m) { m.impl("attention_hopper", forwardMeta); }

} // namespace

Tensor hopperAttention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                       bool cudnnBackward) {
    return std::get<0>(callForward(q, k, v, causal, scale, cudnnBackward));
}

} // namespace fusescope::kernels
