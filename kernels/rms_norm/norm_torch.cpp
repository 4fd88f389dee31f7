// SPDX-License-Identifier: Apache-2.0
#include "kernels/rms_norm/norm_torch.h"

namespace fusescope::kernels {

void checkNorm(const char* op, const at::Tensor& x, const at::Tensor& weight) {
    TORCH_CHECK(x.dim() >= 1, op, ": expected x with at least one dimension");
    TORCH_CHECK(weight.dim() == 1 && weight.sym_size(0) == x.sym_size(-1), op, ": expected weight of shape [",
                x.sym_size(-1), "], found ", weight.sym_sizes());
    TORCH_CHECK(weight.device() == x.device(), op, ": expected weight on ", x.device(), ", found ", weight.device());
    TORCH_CHECK(weight.scalar_type() == x.scalar_type() || weight.scalar_type() == at::kFloat, op,
                ": expected weight of x's type, ", x.scalar_type(), ", or float, found ", weight.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> normOutputs(const at::Tensor& x, const at::Tensor& weight) {
    const c10::SymDimVector rows(x.sym_sizes().begin(), x.sym_sizes().end() - 1);
    return {at::empty_symint(x.sym_sizes(), x.options().dtype(promotedType(x, weight))),
            at::empty_symint(rows, x.options().dtype(at::kFloat))};
}

std::tuple<at::Tensor, at::Tensor> normGradients(const at::Tensor& x, const at::Tensor& weight, bool weightGradient) {
    return {at::empty_symint(x.sym_sizes(), x.options()),
            weightGradient ? at::empty_symint(weight.sym_sizes(), weight.options()) : at::empty({0}, weight.options())};
}

} // namespace fusescope::kernels
