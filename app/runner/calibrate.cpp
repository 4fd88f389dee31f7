// SPDX-License-Identifier: GPL-3.0-or-later
#include "calibrate.h"

#include "measure.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>

#include <algorithm>

namespace fusescope::runner {
namespace {

constexpr std::int64_t kMatrix = 8192, kMatrixCpu = 512;
constexpr int kRounds = 20, kLaunches = 2000;

double spreadShare(const Spread& spread) { return spread.median > 0 ? (spread.p90 - spread.p10) / spread.median : 0; }

void copyRate(const Device& device, const Job& job, Stopwatch& watch, CalibrateResult& result) {
    job.progress("copy bandwidth", 0.05);
    const double bytes = std::min(device.onGpu() ? 2.0 * 1024 * 1024 * 1024 : 256e6, 0.25 * device.freeBytes());
    std::vector<Candidate> copy{Candidate(copyOf(bytes, device))};
    watch.measure(copy, kRounds, 2, "copy bandwidth", 0.05, 0.35);
    const Spread us = spreadOf(copy.front().us);
    if (us.median > 0) result.copy_Bps = bytes / (us.median / 1e6);
    result.copy_spread = spreadShare(us);
}

void matmulRate(const Device& device, const Job& job, Stopwatch& watch, CalibrateResult& result) {
    job.progress("bf16 matrix product", 0.35);
    if (device.onGpu() && device.gpu().compute_capability < 80) return; // no bf16 units
    const std::int64_t n = device.onGpu() && device.freeBytes() > 1e9 ? kMatrix : kMatrixCpu;
    const auto options = at::TensorOptions(at::kBFloat16).device(device.torch());
    // Random numbers: zeros and ones switch fewer transistors, and the clock stays higher than it does in training.
    const at::Tensor a = at::randn({n, n}, options), b = at::randn({n, n}, options);
    at::Tensor c = at::empty({n, n}, options);
    std::vector<Candidate> product{Candidate([&](std::size_t) { at::mm_out(c, a, b); })};
    watch.measure(product, kRounds, 3, "bf16 matrix product", 0.35, 0.8);
    const Spread us = spreadOf(product.front().us);
    const double size = static_cast<double>(n);
    if (us.median > 0) result.bf16_matmul_flops = 2 * size * size * size / (us.median / 1e6);
    result.matmul_spread = spreadShare(us);
}

// A kernel that sleeps for no time is an empty kernel.
void launchTime(const Device& device, const Job& job, CalibrateResult& result) {
    job.progress("launches", 0.8);
    if (!device.onGpu()) return;
    std::vector<double> us;
    for (int round = 0; round < 10; ++round) {
        job.check();
        at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
        at::cuda::sleep(0);
        device.synchronize();
        begin.record();
        for (int i = 0; i < kLaunches; ++i) at::cuda::sleep(0);
        end.record();
        end.synchronize();
        us.push_back(1000.0 * static_cast<double>(begin.elapsed_time(end)) / kLaunches);
    }
    const Spread spread = spreadOf(us);
    result.launch_us = spread.median;
    result.launch_spread = spreadShare(spread);
}

} // namespace

CalibrateResult calibrate(const Device& device, Job& job) {
    job.limitTime(60);
    const at::NoGradGuard no_gradients;
    Stopwatch watch(device, job);
    CalibrateResult result;
    result.device = device.name();
    result.on_gpu = device.onGpu();
    copyRate(device, job, watch, result);
    matmulRate(device, job, watch, result);
    launchTime(device, job, result);
    result.seconds = job.seconds();
    return result;
}

} // namespace fusescope::runner
