// SPDX-License-Identifier: GPL-3.0-or-later
#include "region_run.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

namespace fusescope::runner {

Tensors RegionRun::forward(const Tensors& inputs, const std::function<void()>& check) const {
    const at::AutoGradMode mode(region_.backward);
    return interpreter_.run(inputs, check);
}

Tensors RegionRun::backward(const Tensors& outputs, const Tensors& inputs, const Tensors& out_gradients) const {
    Tensors from, through, wanted;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].requires_grad() || !out_gradients[i].defined()) continue;
        from.push_back(outputs[i]);
        // A fused form may return another type of elements than the baseline, whose gradients these are.
        through.push_back(out_gradients[i].to(outputs[i].scalar_type()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (region_.inputs[i].gradient) wanted.push_back(inputs[i]);
    if (from.empty() || wanted.empty()) return Tensors(wanted.size());
    return torch::autograd::grad(from, wanted, through, true, false, true);
}

} // namespace fusescope::runner
