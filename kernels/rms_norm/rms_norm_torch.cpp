// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.rms_norm(x, weight, eps, fast): CUDA, CPU (the fp64 reference), Meta and Autograd.
#include "kernels/common/torch_inductor.h"
#include "kernels/rms_norm/norm_torch.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm/rms_norm_ref.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

Pair outputsOfForward(const Tensor& x, const Tensor& weight) {
    checkNorm("rms_norm", x, weight);
    return normOutputs(x, weight);
}

/// y, and the rstd of each row for a backward that will want it.
Tensor runForward(const Tensor& x, const Tensor& weight, double eps, bool fast, Tensor* rstdOut) {
    checkNorm("rms_norm", x, weight);
    const c10::cuda::CUDAGuard guard(x.device());
    Tensor y = emptyCuda(x.sizes(), promotedType(x, weight));
    const Tensor rstd = rstdOut ? emptyRstdCuda(x) : Tensor();
    const RowTensor rows(x);
    const Tensor w = weight.contiguous();
    auto call = normCall<FsRmsNormForward>(x, "x", w, rstd, fast);
    call.x = rows.rows;
    call.y = *rowsOf(y);
    call.eps = eps;
    checkCall(fusescope_rms_norm_forward(&call, streamOf(x)));
    if (rstdOut) *rstdOut = rstd;
    return y;
}

Pair forwardCuda(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    Pair out;
    std::get<0>(out) = runForward(x, weight, eps, fast, &std::get<1>(out));
    return out;
}

Tensor inferenceCuda(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    return runForward(x, weight, eps, fast, nullptr);
}

Pair backwardCuda(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double, bool fast,
                  bool weightGradient) {
    const c10::cuda::CUDAGuard guard(x.device());
    const Tensor dx = emptyCudaContiguous(x), dweight = emptyWeightGradientCuda(weight, weightGradient);
    const RowTensor rows(x), rowsDy(inType(dy, promotedType(x, weight)));
    const Tensor w = weight.contiguous(), r = rstd.contiguous();
    auto call = normCall<FsRmsNormBackward>(x, "x", w, r, fast);
    call.dy = rowsDy.rows;
    call.x = rows.rows;
    call.dx = *rowsOf(dx);
    call.dweight = weightGradient ? dweight.data_ptr() : nullptr;
    callWithWorkspace(call, fusescope_rms_norm_backward_workspace, fusescope_rms_norm_backward, x);
    return {dx, dweight};
}

Pair forwardCpu(const Tensor& x, const Tensor& weight, double eps, bool) {
    auto [y, rstd] = outputsOfForward(x, weight);
    const Tensor x64 = asDouble(x), w64 = asDouble(weight);
    const Tensor y64 = at::empty_like(x64), rstd64 = at::empty(rstd.sizes(), x64.options());
    reference::rmsNormForward(x64.data_ptr<double>(), w64.data_ptr<double>(), eps, rstd.numel(), x.size(-1),
                              y64.data_ptr<double>(), rstd64.data_ptr<double>());
    return {y.copy_(y64), rstd.copy_(rstd64)};
}

Pair backwardCpu(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double eps, bool,
                 bool weightGradient) {
    auto [dx, dweight] = normGradients(x, weight, weightGradient);
    const Tensor dy64 = asDouble(dy), x64 = asDouble(x), w64 = asDouble(weight);
    const Tensor dx64 = at::empty_like(x64), dw64 = at::empty_like(w64);
    reference::rmsNormBackward(dy64.data_ptr<double>(), x64.data_ptr<double>(), w64.data_ptr<double>(), eps,
                               rstd.numel(), x.size(-1), dx64.data_ptr<double>(), dw64.data_ptr<double>());
    return {dx.copy_(dx64), weightGradient ? dweight.copy_(dw64) : dweight};
}

Pair forwardMeta(const Tensor& x, const Tensor& weight, double, bool) { return outputsOfForward(x, weight); }

Pair backwardMeta(const Tensor&, const Tensor& x, const Tensor& weight, const Tensor&, double, bool,
                  bool weightGradient) {
    return normGradients(x, weight, weightGradient);
}

Pair callForward(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::rms_norm_forward");
    return op.call(x, weight, eps, fast);
}

Pair callBackward(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double eps, bool fast,
                  bool weightGradient) {
    static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::rms_norm_backward");
    return op.call(dy, x, weight, rstd, eps, fast, weightGradient);
}

/// Below autograd, for devices without an implementation of their own.
Tensor withoutGradient(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    return std::get<0>(callForward(x, weight, eps, fast));
}

struct RmsNorm : torch::autograd::Function<RmsNorm> {
    static Tensor forward(torch::autograd::AutogradContext* context, const Tensor& x, const Tensor& weight, double eps,
                          bool fast) {
        const at::AutoDispatchBelowADInplaceOrView guard;
        auto [y, rstd] = callForward(x, weight, eps, fast);
        context->save_for_backward({x, weight, rstd});
        context->saved_data["eps"] = eps;
        context->saved_data["fast"] = fast;
        return y;
    }

    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   const torch::autograd::variable_list& gradients) {
        const auto saved = context->get_saved_variables();
        const bool weightGradient = context->needs_input_grad(1);
        auto [dx, dweight] =
            callBackward(gradients[0], saved[0], saved[1], saved[2], context->saved_data["eps"].toDouble(),
                         context->saved_data["fast"].toBool(), weightGradient);
        return {dx, weightGradient ? dweight : Tensor(), {}, {}};
    }
};

Tensor withGradient(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    if (wantsGradient(x, weight)) return RmsNorm::apply(x, weight, eps, fast);
    static const auto op = operatorOf<decltype(withoutGradient)>("fusescope::rms_norm");
    const at::AutoDispatchBelowADInplaceOrView below;
    return op.call(x, weight, eps, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("rms_norm(Tensor x, Tensor weight, float eps=1e-6, bool fast=False) -> Tensor");
    m.def("rms_norm_forward(Tensor x, Tensor weight, float eps, bool fast) -> (Tensor y, Tensor rstd)");
    m.def("rms_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor rstd, float eps, bool fast,"
          " bool weight_gradient=True) -> (Tensor dx, Tensor dweight)");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) { m.impl("rms_norm", withoutGradient); }
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("rms_norm", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("rms_norm", inferenceCuda);
    m.impl("rms_norm_forward", forwardCuda);
    m.impl("rms_norm_backward", backwardCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("rms_norm_forward", forwardCpu);
    m.impl("rms_norm_backward", backwardCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("rms_norm_forward", meta<forwardMeta>);
    m.impl("rms_norm_backward", meta<backwardMeta>);
}

} // namespace
} // namespace fusescope::kernels
