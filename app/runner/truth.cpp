// SPDX-License-Identifier: GPL-3.0-or-later
#include "truth.h"

#include "failure.h"

#include <ATen/ATen.h>
#include <c10/core/DefaultDtype.h>

#include <algorithm>

namespace fusescope::runner {
namespace {

constexpr double kMostCpuBytes = 4e9; // in fp64, when the GPU is too small for it

// Operators that make tensors out of nothing (arange, full) make them in fp64 too.
class DoubleByDefault {
public:
    DoubleByDefault() { c10::set_default_dtype(caffe2::TypeMeta::Make<double>()); }
    ~DoubleByDefault() { c10::set_default_dtype(caffe2::TypeMeta::Make<float>()); }
    DoubleByDefault(const DoubleByDefault&) = delete;
    DoubleByDefault& operator=(const DoubleByDefault&) = delete;
};

double bytesOf(const Tensors& tensors) {
    double bytes = 0;
    for (const at::Tensor& tensor : tensors) bytes += static_cast<double>(tensor.nbytes());
    return bytes;
}

// How much wider fp64 is than the narrowest floating type among the inputs.
double widening(const Tensors& tensors) {
    double factor = 1;
    for (const at::Tensor& tensor : tensors)
        if (tensor.is_floating_point()) factor = std::max(factor, 8.0 / static_cast<double>(tensor.element_size()));
    return factor;
}

Values run(const Region& region, const Tensors& inputs, const Tensors& out_gradients, c10::Device where, const Job& job,
           double budget_s) {
    Result<Interpreter> interpreter = Interpreter::prepare(region.baseline, {where, true});
    if (!interpreter) throw Failed("unsupported", interpreter.error().message());
    const RegionRun program(*std::move(interpreter), region, job);
    const DoubleByDefault guard;
    const Tensors doubles = asDouble(inputs, where);
    const double end = job.seconds() + budget_s;
    const auto check = [&] {
        job.check();
        if (job.seconds() > end) throw Failed("slow", "in fp64 it takes too long");
    };
    Values values;
    values.outputs = program.forward(doubles, check);
    if (region.backward) {
        check();
        values.gradients = program.backward(values.outputs, doubles, asDouble(out_gradients, where));
    }
    return values;
}

} // namespace

Truth truthOf(const Region& region, const Tensors& inputs, const Tensors& out_gradients, double run_bytes,
              const Device& device, const Job& job) {
    job.progress("fp64", 0.15);
    const double needed = (2 * bytesOf(inputs) + 2 * run_bytes) * widening(inputs);
    c10::Device where = device.torch();
    if (needed > 0.9 * device.freeBytes()) {
        if (!device.onGpu() || needed > kMostCpuBytes) return {std::nullopt, "in fp64 it does not fit into memory"};
        where = c10::Device(c10::DeviceType::CPU);
    }
    const double budget_s = std::clamp(0.3 * job.secondsLeft(), 1.0, 30.0);
    try {
        Truth truth{run(region, inputs, out_gradients, where, job, budget_s), {}};
        device.synchronize();
        return truth;
    } catch (const std::exception& e) {
        const Failed failed = failureOf(e, {});
        const std::string& code = failed.error.code;
        if (code == "cancelled" || code == "time_limit" || code == "cuda") throw failed;
        device.emptyCache();
        return {std::nullopt, failed.error.message};
    }
}

} // namespace fusescope::runner
