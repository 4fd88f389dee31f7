// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.add_rms_norm(x, residual, weight, eps, fast) -> (y, sum): CUDA, CPU (the fp64 reference), Meta
// and Autograd.
#include "kernels/add_rms_norm/add_rms_norm.h"
#include "kernels/add_rms_norm/add_rms_norm_ref.h"
#include "kernels/common/torch_inductor.h"
#include "kernels/rms_norm/norm_torch.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;
using Triple = std::tuple<Tensor, Tensor, Tensor>;

void checkInputs(const Tensor& x, const Tensor& residual, const Tensor& weight) {
    TORCH_CHECK(x.sym_sizes() == residual.sym_sizes() && x.scalar_type() == residual.scalar_type(),
                "add_rms_norm: expected residual like x (", x.sym_sizes(), ", ", x.scalar_type(), "), found ",
                residual.sym_sizes(), ", ", residual.scalar_type());
    TORCH_CHECK(residual.device() == x.device(), "add_rms_norm: expected residual on ", x.device(), ", found ",
                residual.device());
    checkNorm("add_rms_norm", x, weight);
}

Triple outputsOfForward(const Tensor& x, const Tensor& residual, const Tensor& weight) {
    checkInputs(x, residual, weight);
    auto [y, rstd] = normOutputs(x, weight);
    return {y, at::empty_symint(x.sym_sizes(), x.options()), rstd};
}

/// y and sum, and the rstd of each row for a backward that will want it.
Pair runForward(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast, Tensor* rstdOut) {
    checkInputs(x, residual, weight);
    const c10::cuda::CUDAGuard guard(x.device());
    Tensor y = emptyCuda(x.sizes(), promotedType(x, weight)), sum = emptyCudaContiguous(x);
    const Tensor rstd = rstdOut ? emptyRstdCuda(x) : Tensor();
    const RowTensor rows(x), rowsResidual(residual);
    const Tensor w = weight.contiguous();
    auto call = normCall<FsAddRmsNormForward>(x, "x", w, rstd, fast);
    call.x = rows.rows;
    call.residual = rowsResidual.rows;
    call.sum = *rowsOf(sum);
    call.y = *rowsOf(y);
    call.eps = eps;
    checkCall(fusescope_add_rms_norm_forward(&call, streamOf(x)));
    if (rstdOut) *rstdOut = rstd;
    return {std::move(y), std::move(sum)};
}

Triple forwardCuda(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast) {
    Tensor rstd;
    auto [y, sum] = runForward(x, residual, weight, eps, fast, &rstd);
    return {y, sum, rstd};
}

Pair inferenceCuda(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast) {
    return runForward(x, residual, weight, eps, fast, nullptr);
}

Pair backwardCuda(const Tensor& dy, const Tensor& dsum, const Tensor& sum, const Tensor& weight, const Tensor& rstd,
                  double, bool fast, bool weightGradient) {
    const c10::cuda::CUDAGuard guard(sum.device());
    const Tensor dx = emptyCudaContiguous(sum), dweight = emptyWeightGradientCuda(weight, weightGradient);
    const RowTensor rows(sum), rowsDy(inType(dy, promotedType(sum, weight))), rowsDsum(inType(dsum, sum.scalar_type()));
    const Tensor w = weight.contiguous(), r = rstd.contiguous();
    auto call = normCall<FsAddRmsNormBackward>(sum, "sum", w, r, fast);
    call.dy = rowsDy.rows;
    call.dsum = rowsDsum.rows;
    call.sum = rows.rows;
    call.dx = *rowsOf(dx);
    call.dweight = weightGradient ? dweight.data_ptr() : nullptr;
    callWithWorkspace(call, fusescope_add_rms_norm_backward_workspace, fusescope_add_rms_norm_backward, sum);
    return {dx, dweight};
}

Triple forwardCpu(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool) {
    auto [y, sum, rstd] = outputsOfForward(x, residual, weight);
    const Tensor x64 = asDouble(x), residual64 = asDouble(residual), w64 = asDouble(weight);
    const Tensor sum64 = at::empty_like(x64), y64 = at::empty_like(x64);
    reference::addRmsNormForward(x64.data_ptr<double>(), residual64.data_ptr<double>(), w64.data_ptr<double>(), eps,
                                 rstd.numel(), x.size(-1), sum64.data_ptr<double>(), y64.data_ptr<double>());
    if (rstd.numel() > 0) rstd.copy_((sum64.square().mean(-1) + eps).rsqrt());
    return {y.copy_(y64), sum.copy_(sum64), rstd};
}

Pair backwardCpu(const Tensor& dy, const Tensor& dsum, const Tensor& sum, const Tensor& weight, const Tensor& rstd,
                 double eps, bool, bool weightGradient) {
    auto [dx, dweight] = normGradients(sum, weight, weightGradient);
    const Tensor dy64 = asDouble(dy), dsum64 = asDouble(dsum), sum64 = asDouble(sum), w64 = asDouble(weight);
    const Tensor dx64 = at::empty_like(sum64), dw64 = at::empty_like(w64);
    reference::addRmsNormBackward(dy64.data_ptr<double>(), dsum64.data_ptr<double>(), sum64.data_ptr<double>(),
                                  w64.data_ptr<double>(), eps, rstd.numel(), sum.size(-1), dx64.data_ptr<double>(),
                                  dw64.data_ptr<double>());
    return {dx.copy_(dx64), weightGradient ? dweight.copy_(dw64) : dweight};
}

Triple forwardMeta(const Tensor& x, const Tensor& residual, const Tensor& weight, double, bool) {
    return outputsOfForward(x, residual, weight);
}

Pair backwardMeta(const Tensor&, const Tensor&, const Tensor& sum, const Tensor& weight, const Tensor&, double, bool,
                  bool weightGradient) {
    return normGradients(sum, weight, weightGradient);
}

Triple callForward(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::add_rms_norm_forward");
    return op.call(x, residual, weight, eps, fast);
}

Pair callBackward(const Tensor& dy, const Tensor& dsum, const Tensor& sum, const Tensor& weight, const Tensor& rstd,
                  double eps, bool fast, bool weightGradient) {
    static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::add_rms_norm_backward");
    return op.call(dy, dsum, sum, weight, rstd, eps, fast, weightGradient);
}

/// Below autograd, for devices without an implementation of their own.
Pair withoutGradient(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast) {
    auto [y, sum, rstd] = callForward(x, residual, weight, eps, fast);
    return {y, sum};
}

struct AddRmsNorm : torch::autograd::Function<AddRmsNorm> {
    static torch::autograd::variable_list forward(torch::autograd::AutogradContext* context, const Tensor& x,
                                                  const Tensor& residual, const Tensor& weight, double eps, bool fast) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        auto [y, sum, rstd] = callForward(x, residual, weight, eps, fast);
        context->save_for_backward({sum, weight, rstd});
        context->saved_data["eps"] = eps;
        context->saved_data["fast"] = fast;
        return {y, sum};
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        // An output that nobody used has no gradient.
        const Tensor dy = gradients[0].defined() ? gradients[0] : at::zeros_like(saved[0]);
        const Tensor dsum = gradients[1].defined() ? gradients[1] : at::zeros_like(saved[0]);
        const bool weightGradient = context->needs_input_grad(2);
        auto [dx, dweight] = callBackward(dy, dsum, saved[0], saved[1], saved[2], context->saved_data["eps"].toDouble(),
                                          context->saved_data["fast"].toBool(), weightGradient);
        return {dx, dx, weightGradient ? dweight : Tensor(), {}, {}};
    }
};

Pair withGradient(const Tensor& x, const Tensor& residual, const Tensor& weight, double eps, bool fast) {
    if (wantsGradient(x, residual, weight)) {
        const auto out = AddRmsNorm::apply(x, residual, weight, eps, fast);
        return {out[0], out[1]};
    }
    static const auto op = operatorOf<decltype(withoutGradient)>("fusescope::add_rms_norm");
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(x, residual, weight, eps, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("add_rms_norm(Tensor x, Tensor residual, Tensor weight, float eps=1e-6, bool fast=False)"
          " -> (Tensor y, Tensor sum)");
    m.def("add_rms_norm_forward(Tensor x, Tensor residual, Tensor weight, float eps, bool fast)"
          " -> (Tensor y, Tensor sum, Tensor rstd)");
    m.def("add_rms_norm_backward(Tensor dy, Tensor dsum, Tensor sum, Tensor weight, Tensor rstd, float eps, bool fast,"
          " bool weight_gradient=True) -> (Tensor dx, Tensor dweight)");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) { m.impl("add_rms_norm", withoutGradient); }
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("add_rms_norm", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("add_rms_norm", inferenceCuda);
    m.impl("add_rms_norm_forward", forwardCuda);
    m.impl("add_rms_norm_backward", backwardCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("add_rms_norm_forward", forwardCpu);
    m.impl("add_rms_norm_backward", backwardCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("add_rms_norm_forward", meta<forwardMeta>);
    m.impl("add_rms_norm_backward", meta<backwardMeta>);
}

} // namespace
} // namespace fusescope::kernels
