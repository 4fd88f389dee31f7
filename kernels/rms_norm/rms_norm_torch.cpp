// SPDX-License-Identifier: Apache-2.0
// torch.ops.fusescope.rms_norm(x, weight, eps, fast): CUDA, CPU (the fp64 reference), Meta and Autograd.
#include "kernels/common/torch_support.h"
#include "kernels/rms_norm/rms_norm.h"
#include "kernels/rms_norm/rms_norm_ref.h"

#include <c10/cuda/CUDAGuard.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

namespace fusescope::kernels {
namespace {

using at::Tensor;
using Pair = std::tuple<Tensor, Tensor>;

void checkShapes(const Tensor& x, const Tensor& weight) {
    TORCH_CHECK(x.dim() >= 1, "rms_norm: expected x with at least one dimension");
    TORCH_CHECK(weight.dim() == 1 && weight.sym_size(0) == x.sym_size(-1), "rms_norm: expected weight of shape [",
                x.sym_size(-1), "], found ", weight.sym_sizes());
}

Pair outputsOfForward(const Tensor& x, const Tensor& weight) {
    checkShapes(x, weight);
    c10::SymDimVector rows(x.sym_sizes().begin(), x.sym_sizes().end() - 1);
    return {at::empty_symint(x.sym_sizes(), x.options().dtype(promotedType(x, weight))),
            at::empty_symint(rows, x.options().dtype(at::kFloat))};
}

Pair outputsOfBackward(const Tensor& x, const Tensor& weight) {
    return {at::empty_symint(x.sym_sizes(), x.options()), at::empty_symint(weight.sym_sizes(), weight.options())};
}

Pair forwardCuda(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto [y, rstd] = outputsOfForward(x, weight);
    const RowTensor rows(x);
    const Tensor w = weight.contiguous();
    FsRmsNormForward call{};
    call.x = rows.rows;
    call.y = *rowsOf(y);
    call.weight = w.data_ptr();
    call.rstd = rstd.data_ptr<float>();
    call.width = x.size(-1);
    call.dtype = dtypeOf(x, "x");
    call.weight_dtype = dtypeOf(w, "weight");
    call.eps = eps;
    call.rounding = roundingOf(fast);
    checkCall(fusescope_rms_norm_forward(&call, streamOf(x)));
    return {y, rstd};
}

Pair backwardCuda(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double, bool fast) {
    const c10::cuda::CUDAGuard guard(x.device());
    auto [dx, dweight] = outputsOfBackward(x, weight);
    const RowTensor rows(x), rowsDy(dy.to(promotedType(x, weight)));
    const Tensor w = weight.contiguous(), r = rstd.contiguous();
    FsRmsNormBackward call{};
    call.dy = rowsDy.rows;
    call.x = rows.rows;
    call.dx = *rowsOf(dx);
    call.weight = w.data_ptr();
    call.rstd = r.data_ptr<float>();
    call.dweight = dweight.data_ptr();
    call.width = x.size(-1);
    call.dtype = dtypeOf(x, "x");
    call.weight_dtype = dtypeOf(w, "weight");
    call.rounding = roundingOf(fast);
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

Pair backwardCpu(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double eps, bool) {
    auto [dx, dweight] = outputsOfBackward(x, weight);
    const Tensor dy64 = asDouble(dy), x64 = asDouble(x), w64 = asDouble(weight);
    const Tensor dx64 = at::empty_like(x64), dw64 = at::empty_like(w64);
    reference::rmsNormBackward(dy64.data_ptr<double>(), x64.data_ptr<double>(), w64.data_ptr<double>(), eps,
                               rstd.numel(), x.size(-1), dx64.data_ptr<double>(), dw64.data_ptr<double>());
    return {dx.copy_(dx64), dweight.copy_(dw64)};
}

Pair forwardMeta(const Tensor& x, const Tensor& weight, double, bool) { return outputsOfForward(x, weight); }

Pair backwardMeta(const Tensor&, const Tensor& x, const Tensor& weight, const Tensor&, double, bool) {
    return outputsOfBackward(x, weight);
}

Pair callForward(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    static const auto op = operatorOf<decltype(forwardMeta)>("fusescope::rms_norm_forward");
    return op.call(x, weight, eps, fast);
}

Pair callBackward(const Tensor& dy, const Tensor& x, const Tensor& weight, const Tensor& rstd, double eps, bool fast) {
    static const auto op = operatorOf<decltype(backwardMeta)>("fusescope::rms_norm_backward");
    return op.call(dy, x, weight, rstd, eps, fast);
}

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
        auto [dx, dweight] = callBackward(gradients[0], saved[0], saved[1], saved[2],
                                          context->saved_data["eps"].toDouble(), context->saved_data["fast"].toBool());
        return {dx, dweight, {}, {}};
    }
};

Tensor withGradient(const Tensor& x, const Tensor& weight, double eps, bool fast) {
    return RmsNorm::apply(x, weight, eps, fast);
}

TORCH_LIBRARY_FRAGMENT(fusescope, m) {
    m.def("rms_norm(Tensor x, Tensor weight, float eps=1e-6, bool fast=False) -> Tensor");
    m.def("rms_norm_forward(Tensor x, Tensor weight, float eps, bool fast) -> (Tensor y, Tensor rstd)");
    m.def("rms_norm_backward(Tensor dy, Tensor x, Tensor weight, Tensor rstd, float eps, bool fast)"
          " -> (Tensor dx, Tensor dweight)");
}
TORCH_LIBRARY_IMPL(fusescope, CompositeExplicitAutograd, m) { m.impl("rms_norm", withoutGradient); }
TORCH_LIBRARY_IMPL(fusescope, Autograd, m) { m.impl("rms_norm", withGradient); }
TORCH_LIBRARY_IMPL(fusescope, CUDA, m) {
    m.impl("rms_norm_forward", forwardCuda);
    m.impl("rms_norm_backward", backwardCuda);
}
TORCH_LIBRARY_IMPL(fusescope, CPU, m) {
    m.impl("rms_norm_forward", forwardCpu);
    m.impl("rms_norm_backward", backwardCpu);
}
TORCH_LIBRARY_IMPL(fusescope, Meta, m) {
    m.impl("rms_norm_forward", forwardMeta);
    m.impl("rms_norm_backward", backwardMeta);
}

} // namespace
} // namespace fusescope::kernels
