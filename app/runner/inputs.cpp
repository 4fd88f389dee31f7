// SPDX-License-Identifier: GPL-3.0-or-later
#include "inputs.h"

#include "torch_type.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>

#include <algorithm>
#include <limits>

namespace fusescope::runner {
namespace {

constexpr std::uint64_t kSeed = 20'240'917;

at::Generator generatorFor(c10::Device device, std::size_t index) {
    at::Generator generator =
        device.is_cuda() ? at::cuda::detail::createCUDAGenerator(device.index()) : at::detail::createCPUGenerator();
    generator.set_current_seed(kSeed + index);
    return generator;
}

// Types that random numbers cannot be drawn in (fp8, unsigned, complex) are filled through fp32.
bool drawsDirectly(c10::ScalarType type) {
    return type == at::kHalf || type == at::kBFloat16 || type == at::kFloat || type == at::kDouble ||
           type == at::kLong || type == at::kInt || type == at::kShort || type == at::kByte || type == at::kChar;
}

void draw(const at::Tensor& memory, const RegionInput& input, const at::Generator& generator) {
    if (!drawsDirectly(memory.scalar_type())) {
        const at::Tensor numbers = at::empty(memory.sizes(), memory.options().dtype(at::kFloat));
        draw(numbers, input, generator);
        memory.copy_(numbers);
        return;
    }
    const bool whole = !memory.is_floating_point();
    const std::int64_t most = std::max<std::int64_t>(1, static_cast<std::int64_t>(input.scale));
    switch (input.fill) {
    case Fill::Normal:
        if (whole)
            memory.random_(memory.scalar_type() == at::kByte ? 0 : -most, most + 1, generator);
        else
            memory.normal_(0, input.scale, generator);
        return;
    case Fill::Uniform:
        if (whole)
            memory.random_(0, most, generator);
        else
            memory.uniform_(0, input.scale, generator);
        return;
    case Fill::NearOne:
        if (whole)
            memory.fill_(1);
        else
            memory.uniform_(1 - input.scale, 1 + input.scale, generator);
        return;
    case Fill::Index: memory.random_(0, std::max<std::int64_t>(1, input.bound), generator); return;
    default: memory.fill_(input.scale); return;
    }
}

// Values that depend on the place, written through the tensor's own strides. A dimension of stride 0 has one element.
void place(at::Tensor view, Fill fill) {
    for (std::int64_t d = 0; d < view.dim(); ++d)
        if (view.stride(d) == 0 && view.size(d) > 1) view = view.narrow(d, 0, 1);
    const auto numbers = view.options().dtype(at::kLong);
    if (view.dim() == 0) {
        view.fill_(fill == Fill::Causal && view.scalar_type() == at::kBool ? 1 : 0);
        return;
    }
    const at::Tensor column = at::arange(view.size(-1), numbers);
    if (fill == Fill::Position) {
        view.copy_(column.expand(view.sizes()));
        return;
    }
    const at::Tensor row = view.dim() < 2 ? at::zeros({1}, numbers) : at::arange(view.size(-2), numbers).unsqueeze(1);
    const at::Tensor allowed = column.le(row);
    if (view.scalar_type() == at::kBool) {
        view.copy_(allowed.expand(view.sizes()));
        return;
    }
    const at::Tensor mask = at::zeros(allowed.sizes(), numbers.dtype(at::kFloat))
                                .masked_fill_(allowed.logical_not(), -std::numeric_limits<double>::infinity());
    view.copy_(mask.expand(view.sizes()));
}

at::Tensor makeInput(const RegionInput& input, c10::Device device, std::size_t index) {
    const TensorMeta& meta = input.meta;
    const auto options = at::TensorOptions().dtype(torchType(meta.dtype)).device(device);
    const bool placed = input.fill == Fill::Position || input.fill == Fill::Causal;
    std::int64_t elements = meta.numel();
    if (!meta.strides.empty() && elements > 0) {
        elements = 1;
        for (std::size_t d = 0; d < meta.sizes.size(); ++d) elements += (meta.sizes[d] - 1) * meta.strides[d];
    }
    const at::Tensor memory = at::empty({elements}, options);
    if (placed)
        memory.zero_();
    else
        draw(memory, input, generatorFor(device, index));
    at::Tensor tensor = meta.strides.empty() ? memory.view(meta.sizes) : memory.as_strided(meta.sizes, meta.strides);
    if (placed && elements > 0) place(tensor, input.fill);
    return tensor;
}

} // namespace

Tensors makeInputs(const Region& region, c10::Device device, bool gradients, const Job& job) {
    const at::NoGradGuard no_gradients;
    Tensors tensors;
    for (std::size_t i = 0; i < region.inputs.size(); ++i) {
        job.check();
        const RegionInput& input = region.inputs[i];
        at::Tensor tensor = makeInput(input, device, i).detach();
        if (gradients && input.gradient) {
            if (!tensor.is_floating_point() && !tensor.is_complex())
                throw Failed("bad_request", "input '" + input.name + "' is of a type that has no gradient");
            tensor.requires_grad_(true);
        }
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

Tensors asDouble(const Tensors& tensors, c10::Device device) {
    const at::NoGradGuard no_gradients;
    Tensors doubles;
    for (const at::Tensor& tensor : tensors) {
        if (!tensor.defined()) {
            doubles.emplace_back();
            continue;
        }
        // A copy in any case: a program may write into its inputs.
        at::Tensor copy = tensor.detach().to(
            tensor.options().device(device).dtype(tensor.is_floating_point() ? at::kDouble : tensor.scalar_type()),
            false, true);
        if (tensor.requires_grad()) copy.requires_grad_(true);
        doubles.push_back(std::move(copy));
    }
    return doubles;
}

Tensors makeGradients(const Tensors& outputs) {
    const at::NoGradGuard no_gradients;
    Tensors gradients;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const at::Tensor& output = outputs[i];
        if (!output.defined() || !output.requires_grad()) {
            gradients.emplace_back();
            continue;
        }
        if (output.dim() == 0) { // a loss, whose gradient is 1
            gradients.push_back(at::ones({}, output.options().requires_grad(false)));
            continue;
        }
        at::Tensor gradient = at::empty(output.sizes(), output.options().requires_grad(false));
        RegionInput input;
        draw(gradient, input, generatorFor(output.device(), 100'000 + i));
        gradients.push_back(std::move(gradient));
    }
    return gradients;
}

} // namespace fusescope::runner
