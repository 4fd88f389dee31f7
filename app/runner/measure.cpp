// SPDX-License-Identifier: GPL-3.0-or-later
#include "measure.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <chrono>

namespace fusescope::runner {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFlushBytes = 256e6;

double usSince(Clock::time_point begin) {
    return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

} // namespace

Spread spreadOf(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size(), tenth = n / 10;
    const double median = n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    return {median, values[tenth], values[n - 1 - tenth], static_cast<int>(n)};
}

void Stopwatch::prepare() {
    if (!device_.onGpu() || flush_.defined()) return;
    const double bytes = std::max(kFlushBytes, 2 * device_.gpu().l2_bytes);
    flush_ = at::ones({static_cast<std::int64_t>(bytes / 4)}, at::TensorOptions(at::kFloat).device(device_.torch()));
}

void Stopwatch::emptyL2() {
    prepare();
    (void)at::amax(flush_); // reads only: nothing is left to be written back while a candidate runs
}

double Stopwatch::once(const Candidate& candidate, std::size_t round) {
    if (!device_.onGpu()) {
        const auto begin = Clock::now();
        candidate.run(round);
        return usSince(begin);
    }
    at::cuda::CUDAEvent begin(cudaEventDefault), end(cudaEventDefault);
    emptyL2();
    at::cuda::sleep(static_cast<std::int64_t>(candidate.head_start_ms * device_.cyclesPerMs()));
    begin.record();
    candidate.run(round);
    end.record();
    end.synchronize();
    return 1000.0 * static_cast<double>(begin.elapsed_time(end));
}

double Stopwatch::warmUp(Candidate& candidate) const {
    double seconds = 0;
    for (int i = 0; i < 3 && seconds < 0.2; ++i) { // a long run is warm enough at once
        job_.check();
        device_.synchronize();
        const double before = device_.allocated();
        device_.resetPeak();
        const auto begin = Clock::now();
        candidate.run(0);
        const double launched_ms = usSince(begin) / 1000;
        device_.synchronize();
        seconds = usSince(begin) / 1e6;
        candidate.head_start_ms = std::clamp(1.5 * launched_ms, 1.0, 100.0);
        candidate.peak_bytes = std::max(0.0, device_.peak() - before);
    }
    return seconds;
}

void Stopwatch::measure(std::vector<Candidate>& candidates, int rounds, double budget_s, const std::string& stage,
                        double from, double to) {
    job_.progress(stage, from);
    double round_s = 0;
    for (Candidate& candidate : candidates)
        round_s += warmUp(candidate) + (device_.onGpu() ? candidate.head_start_ms / 1000 + 0.0002 : 0);
    const double fit = budget_s / std::max(round_s, 1e-9);
    if (fit < rounds) {
        rounds = std::max(1, static_cast<int>(fit));
        job_.log(stage + ": " + std::to_string(rounds) + " rounds fit into the time");
    }
    auto told = Clock::now();
    for (int round = 0; round < rounds; ++round) {
        for (Candidate& candidate : candidates) {
            job_.check();
            candidate.us.push_back(once(candidate, static_cast<std::size_t>(round)));
        }
        if (usSince(told) < 200'000) continue;
        told = Clock::now();
        job_.progress(stage, from + (to - from) * (round + 1) / rounds);
    }
}

Run copyOf(double bytes, const Device& device) {
    const auto half = std::max<std::int64_t>(16, static_cast<std::int64_t>(bytes / 2) / 16 * 16);
    const auto options = at::TensorOptions(at::kByte).device(device.torch());
    const at::Tensor from = at::ones({half}, options), to = at::empty({half}, options);
    return [from, to](std::size_t) { to.copy_(from); };
}

} // namespace fusescope::runner
