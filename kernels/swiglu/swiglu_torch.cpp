// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.swiglu(gate, up, fast) and swiglu_packed(gate_up, fast): CUDA, CPU (the fp64 reference), Meta and
// Autograd. The packed form takes [..., 2 * width] with gate first, and its gradient is one tensor of that shape.
#include "kernels/common/torch_inductor.h"
#include "kernels/common/torch_support.h"
#include "kernels/swiglu/swiglu.h"
#include "kernels/swiglu/swiglu_ref.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

void checkInputs(const Tensor& gate, const Tensor& up) {
    TORCH_CHECK(gate.dim() >= 1, "swiglu: expected gate with at least one dimension");
    TORCH_CHECK(gate.sym_sizes() == up.sym_sizes(), "swiglu: expected gate and up of one shape, found ",
                gate.sym_sizes(), " and ", up.sym_sizes());
    TORCH_CHECK(gate.scalar_type() == up.scalar_type(), "swiglu: expected gate and up of one type, found ",
                gate.scalar_type(), " and ", up.scalar_type());
    TORCH_CHECK(gate.device() == up.device(), "swiglu: expected gate and up on one device, found ", gate.device(),
                " and ", up.device());
}

Tensor outputOf(const Tensor& gate, const Tensor& up) {
    checkInputs(gate, up);
    return at::empty_symint(gate.sym_sizes(), gate.options());
}

Tensor outputOfPacked(const Tensor& gateUp) {
    TORCH_CHECK(gateUp.dim() >= 1, "swiglu_packed: expected a tensor with at least one dimension");
    TORCH_CHECK(gateUp.sym_size(-1) % 2 == 0, "swiglu_packed: expected gate and up side by side, found ",
                gateUp.sym_size(-1), " columns");
    c10::SymDimVector sizes(gateUp.sym_sizes().begin(), gateUp.sym_sizes().end());
    sizes.back() = sizes.back() / 2;
    return at::empty_symint(sizes, gateUp.options());
}

Tensor emptyLike(const Tensor& t) { return at::empty_symint(t.sym_sizes(), t.options()); }

Tensor half(const Tensor& packed, int which) {
    const int64_t width = packed.size(-1) / 2;
    return packed.narrow(-1, which * width, width);
}

void checkGradient(const Tensor& dh, at::IntArrayRef sizes) {
    TORCH_CHECK(dh.sizes() == sizes, "swiglu: expected dh of shape ", sizes, ", found ", dh.sizes());
}

void runForward(const Tensor& gate, const Tensor& up, const Tensor& h, bool fast) {
    const RowTensor rowsGate(gate), rowsUp(up);
    FsSwigluForward call{};
    call.gate = rowsGate.rows;
    call.up = rowsUp.rows;
    call.h = *rowsOf(h);
    call.width = gate.size(-1);
    call.dtype = dtypeOf(gate, "gate");
    call.rounding = roundingOf(fast);
    checkCall(fusescope_swiglu_forward(&call, streamOf(gate)));
}

void runBackward(const Tensor& dh, const Tensor& gate, const Tensor& up, const Tensor& dgate, const Tensor& dup,
                 bool fast) {
    checkGradient(dh, gate.sizes());
    const RowTensor rowsDh(inType(dh, gate.scalar_type())), rowsGate(gate), rowsUp(up);
    FsSwigluBackward call{};
    call.dh = rowsDh.rows;
    call.gate = rowsGate.rows;
    call.up = rowsUp.rows;
    call.dgate = *rowsOf(dgate);
    call.dup = *rowsOf(dup);
    call.width = gate.size(-1);
    call.dtype = dtypeOf(gate, "gate");
    call.rounding = roundingOf(fast);
    checkCall(fusescope_swiglu_backward(&call, streamOf(gate)));
}

Tensor forwardCuda(const Tensor& gate, const Tensor& up, bool fast) {
    checkInputs(gate, up);
    const c10::cuda::CUDAGuard guard(gate.device());
    Tensor h = emptyCudaContiguous(gate);
    runForward(gate, up, h, fast);
    return h;
}

Tensor forwardPackedCuda(const Tensor& gateUp, bool fast) {
    const c10::cuda::CUDAGuard guard(gateUp.device());
    Tensor h = outputOfPacked(gateUp);
    const RowTensor packed(gateUp);
    runForward(half(packed.tensor, 0), half(packed.tensor, 1), h, fast);
    return h;
}

Pair backwardCuda(const Tensor& dh, const Tensor& gate, const Tensor& up, bool fast) {
    checkInputs(gate, up);
    const c10::cuda::CUDAGuard guard(gate.device());
    const Tensor dgate = emptyCudaContiguous(gate), dup = emptyCudaContiguous(up);
    runBackward(dh, gate, up, dgate, dup, fast);
    return {dgate, dup};
}

Tensor backwardPackedCuda(const Tensor& dh, const Tensor& gateUp, bool fast) {
    const c10::cuda::CUDAGuard guard(gateUp.device());
    Tensor dgateUp = emptyCudaContiguous(gateUp);
    const RowTensor packed(gateUp);
    runBackward(dh, half(packed.tensor, 0), half(packed.tensor, 1), half(dgateUp, 0), half(dgateUp, 1), fast);
    return dgateUp;
}

int64_t rowsIn(const Tensor& t) { return t.numel() == 0 ? 0 : t.numel() / t.size(-1); }

Tensor forwardCpu(const Tensor& gate, const Tensor& up, bool) {
    Tensor h = outputOf(gate, up);
    const Tensor g = asDouble(gate), u = asDouble(up), h64 = at::empty_like(g);
    reference::swigluForward(g.data_ptr<double>(), u.data_ptr<double>(), rowsIn(g), g.size(-1), g.size(-1),
                             h64.data_ptr<double>());
    return h.copy_(h64);
}

Tensor forwardPackedCpu(const Tensor& gateUp, bool) {
    Tensor h = outputOfPacked(gateUp);
    const Tensor p = asDouble(gateUp), h64 = at::empty(h.sizes(), p.options());
    const double* gate = p.data_ptr<double>();
    const int64_t width = h.size(-1);
    reference::swigluForward(gate, gate + width, rowsIn(p), width, 2 * width, h64.data_ptr<double>());
    return h.copy_(h64);
}

Pair backwardCpu(const Tensor& dh, const Tensor& gate, const Tensor& up, bool) {
    Tensor dgate = outputOf(gate, up), dup = emptyLike(up);
    checkGradient(dh, gate.sizes());
    const Tensor d = asDouble(dh), g = asDouble(gate), u = asDouble(up);
    const Tensor dg = at::empty_like(g), du = at::empty_like(u);
    reference::swigluBackward(d.data_ptr<double>(), g.data_ptr<double>(), u.data_ptr<double>(), rowsIn(g), g.size(-1),
                              g.size(-1), dg.data_ptr<double>(), du.data_ptr<double>());
    return {dgate.copy_(dg), dup.copy_(du)};
}

Tensor backwardPackedCpu(const Tensor& dh, const Tensor& gateUp, bool) {
    Tensor dgateUp = emptyLike(gateUp);
    checkGradient(dh, outputOfPacked(gateUp).sizes());
    const Tensor d = asDouble(dh), p = asDouble(gateUp), dp = at::empty_like(p);
    const double* gate = p.data_ptr<double>();
    double* dgate = dp.data_ptr<double>();
    const int64_t width = dh.size(-1);
    reference::swigluBackward(d.data_ptr<double>(), gate, gate + width, rowsIn(p), width, 2 * width, dgate,
                              dgate + width);
    return dgateUp.copy_(dp);
}

Tensor forwardMeta(const Tensor& gate, const Tensor& up, bool) { return outputOf(gate, up); }
Tensor forwardPackedMeta(const Tensor& gateUp, bool) { return outputOfPacked(gateUp); }
Pair backwardMeta(const Tensor&, const Tensor& gate, const Tensor& up, bool) {
    return {outputOf(gate, up), emptyLike(up)};
}
Tensor backwardPackedMeta(const Tensor&, const Tensor& gateUp, bool) { return emptyLike(gateUp); }

Tensor callForward(const Tensor& gate, const Tensor& up, bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::swiglu");
    return op.call(gate, up, fast);
}

Tensor callForwardPacked(const Tensor& gateUp, bool fast) {
    static const auto op = operatorOf<decltype(forwardPackedMeta)>("fusescope::swiglu_packed");
    return op.call(gateUp, fast);
}

struct Swiglu : torch::autograd::Function<Swiglu> {
    static Tensor forward(AutogradContext* context, const Tensor& gate, const Tensor& up, bool fast) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        context->save_for_backward({gate, up});
        context->saved_data["fast"] = fast;
        return callForward(gate, up, fast);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::swiglu_backward");
        const auto saved = context->get_saved_variables();
        auto [dgate, dup] = op.call(gradients[0], saved[0], saved[1], context->saved_data["fast"].toBool());
        return {dgate, dup, {}};
    }
};

struct SwigluPacked : torch::autograd::Function<SwigluPacked> {
    static Tensor forward(AutogradContext* context, const Tensor& gateUp, bool fast) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        context->save_for_backward({gateUp});
        context->saved_data["fast"] = fast;
        return callForwardPacked(gateUp, fast);
    }

    static variable_list backward(AutogradContext* context, const variable_list& gradients) {
        static const auto op = operatorOf<decltype(backwardPackedMeta)>("fusescope::swiglu_packed_backward");
        return {op.call(gradients[0], context->get_saved_variables()[0], context->saved_data["fast"].toBool()), {}};
    }
};

Tensor withGradient(const Tensor& gate, const Tensor& up, bool fast) {
    if (wantsGradient(gate, up)) return Swiglu::apply(gate, up, fast);
    const at::AutoDispatchBelowADInplaceOrView below;
    return callForward(gate, up, fast);
}

Tensor withGradientPacked(const Tensor& gateUp, bool fast) {
    if (wantsGradient(gateUp)) return SwigluPacked::apply(gateUp, fast);
    const at::AutoDispatchBelowADInplaceOrView below;
    return callForwardPacked(gateUp, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("swiglu(Tensor gate, Tensor up, bool fast=False) -> Tensor");
    m.def("swiglu_backward(Tensor dh, Tensor gate, Tensor up, bool fast) -> (Tensor dgate, Tensor dup)");
    m.def("swiglu_packed(Tensor gate_up, bool fast=False) -> Tensor");
    m.def("swiglu_packed_backward(Tensor dh, Tensor gate_up, bool fast) -> Tensor");
}
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) {
    m.impl("swiglu", withGradient);
    m.impl("swiglu_packed", withGradientPacked);
}
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("swiglu", forwardCuda);
    m.impl("swiglu_backward", backwardCuda);
    m.impl("swiglu_packed", forwardPackedCuda);
    m.impl("swiglu_packed_backward", backwardPackedCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("swiglu", forwardCpu);
    m.impl("swiglu_backward", backwardCpu);
    m.impl("swiglu_packed", forwardPackedCpu);
    m.impl("swiglu_packed_backward", backwardPackedCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("swiglu", meta<forwardMeta>);
    m.impl("swiglu_backward", meta<backwardMeta>);
    m.impl("swiglu_packed", meta<forwardPackedMeta>);
    m.impl("swiglu_packed_backward", meta<backwardPackedMeta>);
}

} // namespace
} // namespace fusescope::kernels
