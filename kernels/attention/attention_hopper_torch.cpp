// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.attention_hopper(q, k, v, causal, scale, cudnn_backward) -> (out, lse): our own forward kernel
// for compute capability 9.0; the gradients come from the backward of cuDNN or of flash attention, which take its lse.
// It stands behind attention(backend="hopper"). A build without attention_hopper.h has the operator, but no kernel for
// it.
#include "kernels/attention/attention_torch.h"
#include "kernels/common/torch_support.h"

#if __has_include("kernels/attention/attention_hopper.h")
#include "kernels/attention/attention_hopper.h"
#define FUSESCOPE_HOPPER_ATTENTION 1
#else
#define FUSESCOPE_HOPPER_ATTENTION 0
#endif

#include <ATen/core/dispatch/Dispatcher.h>
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

#if FUSESCOPE_HOPPER_ATTENTION

void setStrides(int64_t (&strides)[3], const Tensor& t) {
    strides[0] = t.stride(0);
    strides[1] = t.stride(2);
    strides[2] = t.stride(1);
}

/// All but out and lse.
FsAttention callOf(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale) {
    FsAttention call{};
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
    return call;
}

Pair forwardCuda(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale, bool cudnnBackward) {
    const c10::cuda::CUDAGuard guard(q.device());
    Pair outputs = forwardMeta(q, k, v, causal, scale, cudnnBackward);
    auto& [out, lse] = outputs;
    FsAttention call = callOf(q, k, v, causal, scale);
    call.out = out.data_ptr();
    call.lse = lse.data_ptr<float>();
    setStrides(call.out_stride, out);
    checkCall(fusescope_attention_hopper_forward(&call, streamOf(q)));
    return outputs;
}

#else

Pair forwardCuda(const Tensor&, const Tensor&, const Tensor&, bool, double, bool) {
    TORCH_CHECK(false, "attention: this build has no Hopper kernel");
}

#endif

Pair callForward(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale, bool cudnnBackward) {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("fusescope::attention_hopper", "")
                               .typed<Pair(const Tensor&, const Tensor&, const Tensor&, bool, double, bool)>();
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
        context->saved_data["causal"] = causal;
        context->saved_data["scale"] = scale;
        context->saved_data["cudnn"] = cudnnBackward;
        return {out, lse};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
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

bool hopperSupports(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale) {
#if FUSESCOPE_HOPPER_ATTENTION
    // Tensors while a graph is traced have no memory and may have no sizes: the kernel is for eager calls.
    const bool traced = q.key_set().has(c10::DispatchKey::Python) || q.key_set().has(c10::DispatchKey::Functionalize);
    const bool half = q.scalar_type() == at::kHalf || q.scalar_type() == at::kBFloat16;
    if (traced || !half || !q.has_storage()) return false;
    const FsAttention call = callOf(q, k, v, causal, scale);
    return fusescope_attention_hopper_supported(&call) == FS_OK;
#else
    (void)q, (void)k, (void)v, (void)causal, (void)scale;
    return false;
#endif
}

Tensor hopperAttention(const Tensor& q, const Tensor& k, const Tensor& v, bool causal, double scale,
                       bool cudnnBackward) {
    return std::get<0>(callForward(q, k, v, causal, scale, cudnnBackward));
}

} // namespace fusescope::kernels
