// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors from their descriptions: the recorded shapes, types and strides, synthetic values.
#pragma once

#include "core/region/program.h"
#include "job.h"

#include <ATen/core/Tensor.h>

#include <vector>

namespace fusescope::runner {

using Tensors = std::vector<at::Tensor>;

// The same values on every call on the same device: each input has a generator of its own. With `gradients`, inputs
// that want one are leaves of autograd.
[[nodiscard]] Tensors makeInputs(const Region& region, c10::Device device, bool gradients, const Job& job);

// The same values in fp64 (whole numbers and bools as they are) on a device.
[[nodiscard]] Tensors asDouble(const Tensors& tensors, c10::Device device);

// Gradients for the outputs that want one: normally distributed, 1 for a single number (a loss); undefined for the
// others.
[[nodiscard]] Tensors makeGradients(const Tensors& outputs);

} // namespace fusescope::runner
