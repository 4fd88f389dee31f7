// SPDX-License-Identifier: Apache-2.0
// What the Torch binding of attention is made of.
#pragma once

#include "kernels/attention/choose.h"

#include <ATen/ATen.h>
#include <optional>

namespace fusescope::kernels {

/// On the CPU and for meta tensors, with gradients. The mask is boolean or additive, four-dimensional, not expanded.
at::Tensor attentionReference(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                              const std::optional<at::Tensor>& mask, bool causal, double scale);

/// Our own forward kernel, with gradients through the backward that is named.
at::Tensor hopperAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, bool causal, double scale,
                           HopperBackward backward);

} // namespace fusescope::kernels
