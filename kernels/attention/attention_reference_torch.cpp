// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.attention_reference(q, k, v, mask, causal, scale): the fp64 reference as an operator of the CPU,
// with gradients of q, k, v and an additive mask. It stands behind `attention` there and for meta tensors.
#include "kernels/attention/attention_ref.h"
#include "kernels/attention/attention_torch.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <limits>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Gradients = std::tuple<Tensor, Tensor, Tensor, Tensor>; // dq, dk, dv, dmask (empty unless wanted)

/// The inputs in fp64, and the call that points into them.
struct ReferenceCall {
    ReferenceCall(const Tensor& queries, const Tensor& keys, const Tensor& values, const MaybeTensor& given,
                  bool causal, double scale)
        : q(asDouble(queries)), k(asDouble(keys)), v(asDouble(values)) {
        call = {q.data_ptr<double>(),
                k.data_ptr<double>(),
                v.data_ptr<double>(),
                q.size(0),
                q.size(1),
                k.size(1),
                q.size(2),
                k.size(2),
                q.size(3),
                scale,
                causal};
        if (!given) return;
        mask = given->scalar_type() == at::kBool
                   ? at::zeros(given->sizes(), q.options())
                         .masked_fill_(given->logical_not(), -std::numeric_limits<double>::infinity())
                   : asDouble(*given);
        call.mask = mask.data_ptr<double>();
        for (int64_t d = 0; d < 4; ++d) call.maskStride[size_t(d)] = mask.size(d) == 1 ? 0 : mask.stride(d);
    }

    Tensor q, k, v, mask;
    reference::Attention call;
};

/// Memory in the order [batch, token, head], as the fused kernels write it.
Tensor outputLike(const Tensor& q) {
    return at::empty_symint(q.transpose(1, 2).sym_sizes(), q.options()).transpose(1, 2);
}

Tensor forwardMeta(const Tensor& q, const Tensor&, const Tensor&, const MaybeTensor&, bool, double) {
    return outputLike(q);
}

Tensor forwardCpu(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal,
                  double scale) {
    const ReferenceCall inputs(q, k, v, mask, causal, scale);
    const Tensor out = at::empty_like(inputs.q), lse = at::empty(inputs.q.sizes().slice(0, 3), inputs.q.options());
    reference::attentionForward(inputs.call, out.data_ptr<double>(), lse.data_ptr<double>());
    return outputLike(q).copy_(out);
}

Gradients backwardMeta(const Tensor&, const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool,
                       double, bool wantMask) {
    return {at::empty_symint(q.sym_sizes(), q.options()), at::empty_symint(k.sym_sizes(), k.options()),
            at::empty_symint(v.sym_sizes(), v.options()),
            wantMask ? at::empty_symint(mask->sym_sizes(), mask->options()) : at::empty({0}, q.options())};
}

/// Computes the forward again, in fp64: what the forward returned is rounded.
Gradients backwardCpu(const Tensor& dout, const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask,
                      bool causal, double scale, bool wantMask) {
    const ReferenceCall inputs(q, k, v, mask, causal, scale);
    const Tensor out = at::empty_like(inputs.q), lse = at::empty(inputs.q.sizes().slice(0, 3), inputs.q.options());
    reference::attentionForward(inputs.call, out.data_ptr<double>(), lse.data_ptr<double>());
    const Tensor dout64 = asDouble(dout), dq = at::empty_like(inputs.q), dk = at::empty_like(inputs.k),
                 dv = at::empty_like(inputs.v), dmask = wantMask ? at::zeros_like(inputs.mask) : Tensor();
    reference::attentionBackward(inputs.call, out.data_ptr<double>(), dout64.data_ptr<double>(), dq.data_ptr<double>(),
                                 dk.data_ptr<double>(), dv.data_ptr<double>(),
                                 wantMask ? dmask.data_ptr<double>() : nullptr);
    Gradients gradients = backwardMeta(dout, q, k, v, mask, causal, scale, wantMask);
    std::get<0>(gradients).copy_(dq);
    std::get<1>(gradients).copy_(dk);
    std::get<2>(gradients).copy_(dv);
    if (wantMask) std::get<3>(gradients).copy_(dmask);
    return gradients;
}

struct Reference : torch::autograd::Function<Reference> {
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& q, const Tensor& k, const Tensor& v,
                          const MaybeTensor& mask, bool causal, double scale) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        Tensor out = attentionReference(q, k, v, mask, causal, scale);
        context->save_for_backward({q, k, v, mask.value_or(Tensor())});
        context->saved_data["causal"] = causal;
        context->saved_data["scale"] = scale;
        context->saved_data["want_mask"] = mask && mask->requires_grad();
        return out;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        static const auto op = c10::Dispatcher::singleton()
                                   .findSchemaOrThrow("fusescope::attention_reference_backward", "")
                                   .typed<Gradients(const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                                    const MaybeTensor&, bool, double, bool)>();
        const auto saved = context->get_saved_variables();
        auto& data = context->saved_data;
        const MaybeTensor mask = saved[3].defined() ? MaybeTensor(saved[3]) : std::nullopt;
        const bool wantMask = data["want_mask"].toBool();
        auto [dq, dk, dv, dmask] = op.call(gradients[0], saved[0], saved[1], saved[2], mask, data["causal"].toBool(),
                                           data["scale"].toDouble(), wantMask);
        return {dq, dk, dv, wantMask ? dmask : Tensor(), {}, {}};
    }
};

Tensor withGradient(const Tensor& q, const Tensor& k, const Tensor& v, const MaybeTensor& mask, bool causal,
                    double scale) {
    return Reference::apply(q, k, v, mask, causal, scale);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("attention_reference(Tensor q, Tensor k, Tensor v, Tensor? mask, bool causal, float scale) -> Tensor");
    m.def("attention_reference_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor? mask, bool causal,"
          " float scale, bool want_mask) -> (Tensor dq, Tensor dk, Tensor dv, Tensor dmask)");
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("attention_reference", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("attention_reference", forwardCpu);
    m.impl("attention_reference_backward", backwardCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("attention_reference", meta<forwardMeta>);
    m.impl("attention_reference_backward", meta<backwardMeta>);
}

} // namespace

at::Tensor attentionReference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, bool causal, double scale) {
    static const auto op =
        c10::Dispatcher::singleton()
            .findSchemaOrThrow("fusescope::attention_reference", "")
            .typed<Tensor(const Tensor&, const Tensor&, const Tensor&, const MaybeTensor&, bool, double)>();
    return op.call(q, k, v, mask, causal, scale);
}

} // namespace fusescope::kernels
