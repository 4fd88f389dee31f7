// SPDX-License-Identifier: Apache-2.0
// The operators that the differentiable ones are made of, their backward among them, have no gradient. Where an
// operator says nothing to autograd, PyTorch warns and goes on with zeros: a second derivative would be silently wrong.
// Here it is an error, when it is asked for.
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/library.h>

namespace {

TORCH_LIBRARY_IMPL(fusescope, Autograd, m) {
    for (const char* name :
         {"rms_norm_forward", "rms_norm_backward", "add_rms_norm_forward", "add_rms_norm_backward", "rope_backward",
          "qk_norm_rope_forward", "qk_norm_rope_backward", "qk_norm_rope_backward_into", "swiglu_backward",
          "swiglu_packed_backward", "packed_projection_input_gradient", "packed_projection_weight_gradient",
          "linear_cross_entropy_forward", "linear_cross_entropy_backward", "linear_cross_entropy_backward_",
          "attention_reference_backward", "attention_hopper_backward_atomic"})
        m.impl(name, torch::autograd::autogradNotImplementedFallback());
}

} // namespace
