// SPDX-License-Identifier: GPL-3.0-or-later
// Speaks the runner's protocol with made-up numbers, and misbehaves as its first argument says.
//
//   good [MS]   answers each request after so long (20), cpu the same, named CPU
//   login       lines of text before hello
//   mute        says nothing
//   version     hello of another protocol
//   text        no hello at all
//   crash       ends with status 3 at the first request; signal: by a signal
//   hang        never answers and does not listen to cancel
//   flood       progress without end; line: a line without end
//   half        half an answer, then the end
//   garbage     an answer that is no JSON
//   memory      out of memory for every request; cuda: a CUDA error, then the end
//   device      answers a region with what it runs on; calibration: with a calibration
//   late        cancels only after the result of the cancelled request
#include "core/ipc/runner_protocol.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

namespace {

using namespace fusescope;

std::mutex writing;
void say(const std::string& line) {
    const std::lock_guard lock(writing);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fflush(stdout);
}
void answer(std::int64_t id, RunnerEvent event) {
    if (const auto line = encodeAnswer({id, std::move(event)})) say(*line);
}
void rest(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

Spread spread(double us) { return {us, us * 0.985, us * 1.02}; }

FuseResult resultOf(const Region& region, bool gpu) {
    FuseResult r;
    r.region = region.id;
    r.pattern = region.pattern;
    r.device = gpu ? "NVIDIA H200" : "CPU (reference kernels)";
    r.on_gpu = gpu;
    r.copy_Bps = gpu ? 4.18e12 : 2.1e10;
    r.seconds = 0.8;
    if (!gpu) r.fp64_note = "";
    const auto direction = [&](const char* name, double bytes, double flops, double slower) {
        Comparison c;
        c.direction = name;
        c.has_fused = !region.fused.steps.empty();
        const double fused = std::max(bytes / (r.copy_Bps * 0.9), flops / 7e14) * 1e6 + 2.5;
        const double before = fused * (0.8 + 0.5 * static_cast<double>(region.baseline.steps.size())) * slower;
        c.baseline.us = spread(before);
        c.fused.us = spread(fused);
        if (gpu) {
            c.baseline.graph_us = spread(before * 0.97);
            c.fused.graph_us = spread(fused * 0.98);
        }
        c.baseline.launches = static_cast<double>(region.baseline.steps.size());
        c.fused.launches = 1;
        c.baseline.peak_bytes = bytes * 2.5;
        c.fused.peak_bytes = bytes * 0.5;
        c.baseline.relative_error = 3.1e-3;
        c.fused.relative_error = 2.2e-3;
        c.fused.relative_to_baseline = 1.9e-3;
        c.fused_name = "fusescope::" + region.pattern;
        r.directions.push_back(std::move(c));
    };
    direction("forward", std::max(region.fused_bytes, 1e5), region.fused_flops, 1);
    if (region.backward)
        direction("backward", std::max(region.fused_backward_bytes, 1e5), region.fused_backward_flops, 1.1);
    return r;
}

std::atomic<std::int64_t> cancelled{0}, highest{0};

void serve(const RunnerRequest& request, const std::string& mode, int ms) {
    if (std::holds_alternative<DeviceRequest>(request.call)) {
        RunnerHello hello;
        hello.protocol = kRunnerProtocol;
        hello.torch = "2.11.0+cu130";
        return answer(request.id, RunnerResult(hello));
    }
    const auto* fuse = std::get_if<FuseRequest>(&request.call);
    if (fuse == nullptr) return;
    if (mode == "crash") {
        std::fputs("something broke\n", stderr);
        std::_Exit(3);
    }
    if (mode == "signal") std::raise(SIGKILL);
    if (mode == "hang")
        for (;;) rest(1000);
    if (mode == "flood")
        for (;;) answer(request.id, RunnerProgress{"again and again", 0.5});
    if (mode == "line")
        for (const std::string much(4096, 'x');;) say(much);
    if (mode == "garbage") return say("this is no answer\n");
    if (mode == "half") {
        const auto line = encodeAnswer({request.id, RunnerResult(resultOf(fuse->region, true))});
        say(line->substr(0, line->size() / 2));
        std::_Exit(0);
    }
    if (mode == "memory")
        return answer(request.id, RunnerError{"out_of_memory", "12.9 GB were wanted, 1.2 GB are free.", false});
    if (mode == "cuda") {
        answer(request.id, RunnerError{"cuda", "misaligned address", true});
        std::_Exit(kExitCudaError);
    }
    if (mode == "device") return answer(request.id, RunnerResult(RunnerHello{}));
    if (mode == "calibration") return answer(request.id, RunnerResult(CalibrateResult{}));
    const char* const stages[] = {"inputs", "unfused forward", "fused forward", "unfused backward", "fused backward"};
    constexpr int kStages = 5;
    for (int i = 0; i < kStages; ++i) {
        answer(request.id, RunnerProgress{stages[i], static_cast<double>(i) / kStages});
        for (int waited = 0; waited < ms / kStages; ++waited) {
            rest(1);
            if (mode != "late" && cancelled == request.id)
                return answer(request.id, RunnerError{"cancelled", "", false});
        }
    }
    answer(request.id, RunnerResult(resultOf(fuse->region, mode != "cpu")));
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "good";
    const int ms = argc > 2 ? std::atoi(argv[2]) : 20;
    if (mode == "mute")
        for (;;) rest(1000);
    if (mode == "text") {
        for (int i = 0; i < 1000; ++i) say("command not understood\n");
        return 0;
    }
    if (mode == "login") say("Welcome to gpu-box\n\nlast login: yesterday\n");
    RunnerHello hello;
    hello.protocol = mode == "version" ? kRunnerProtocol + 1 : kRunnerProtocol;
    hello.build = "test";
    hello.torch = "2.11.0+cu130";
    hello.kernels = true;
    if (mode != "cpu") {
        hello.cuda = "13.0";
        hello.driver = "580.159.04";
        hello.gpus = {{"NVIDIA H200", 90, 132, 1.5e11, 1.4e11, 6e7, "GPU-1"}};
    }
    say(encodeHello(hello));
    std::string line;
    std::thread busy;
    while (std::getline(std::cin, line)) {
        auto request = decodeRequest(line);
        if (!request) {
            answer(requestIdIn(line), RunnerError{"bad_request", request.error().message(), false});
            continue;
        }
        if (const auto* cancel = std::get_if<CancelRequest>(&request->call)) {
            cancelled = cancel->target;
            continue;
        }
        if (busy.joinable()) busy.join();
        busy = std::thread([taken = std::move(*request), mode, ms] { serve(taken, mode, ms); });
    }
    std::_Exit(0);
}
