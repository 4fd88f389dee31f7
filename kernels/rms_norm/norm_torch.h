// SPDX-License-Identifier: Apache-2.0
// What the bindings of rms_norm and add_rms_norm share.
#pragma once

#include "kernels/common/torch_support.h"

#include <tuple>

namespace fusescope::kernels {

/// The element type of y: what a half-precision x and an fp32 weight promote to.
inline at::ScalarType promotedType(const at::Tensor& x, const at::Tensor& weight) {
    return at::promote_types(x.scalar_type(), weight.scalar_type());
}

/// Torch's error unless x has rows and weight is [the width of a row] beside it.
void checkNorm(const char* op, const at::Tensor& x, const at::Tensor& weight);

/// Empty: y and the reciprocal of each row's root mean square, of what has been checked. Through the dispatcher, for
/// any device; CUDA has its own below.
std::tuple<at::Tensor, at::Tensor> normOutputs(const at::Tensor& x, const at::Tensor& weight);

/// Empty: the gradients of x and weight; the latter without elements where it is not wanted (a frozen weight).
std::tuple<at::Tensor, at::Tensor> normGradients(const at::Tensor& x, const at::Tensor& weight, bool weightGradient);
inline at::Tensor emptyWeightGradientCuda(const at::Tensor& weight, bool wanted) {
    return wanted ? emptyCudaContiguous(weight) : emptyCuda({0}, weight.scalar_type());
}

inline at::Tensor emptyRstdCuda(const at::Tensor& x) {
    return emptyCuda(x.sizes().slice(0, size_t(x.dim() - 1)), at::kFloat);
}

/// The fields of a call in either direction that say what is normed and how. Keep weight and rstd, which are
/// contiguous, as long as the call. An undefined rstd is one that is not wanted.
template <class Call>
Call normCall(const at::Tensor& x, const char* name, const at::Tensor& weight, const at::Tensor& rstd, bool fast) {
    Call call{};
    call.weight = weight.data_ptr();
    call.rstd = rstd.defined() ? rstd.data_ptr<float>() : nullptr;
    call.width = x.size(-1);
    call.dtype = dtypeOf(x, name);
    call.weight_dtype = dtypeOf(weight, "weight");
    call.rounding = roundingOf(fast);
    return call;
}

} // namespace fusescope::kernels
