// SPDX-License-Identifier: Apache-2.0
// fake_runner WAY [N]: speaks the runner's protocol without Torch, with made-up figures that are always the same, and
// misbehaves as WAY says. N: from the Nth request on (1 where it is not given); what comes before is answered well.
//
//   good             answers; a GPU "NVIDIA H200"
//   cpu              answers; no GPU
//   slow             takes two seconds a request, tells its progress, can be cancelled
//   late             as slow, but hears of a cancel only when the request is done, and answers it again
//   greeting         answers, after the lines of a login
//   busy             answers; another job uses the GPU
//   unsupported      answers with an error of that code; so do out_of_memory, time_limit
//   crash-at-start, hang-at-start, exit-at-start     before the hello
//   no-hello, half-hello, old, new, huge-hello       says something else as its first line
//   crash, exit, hang, silent                        in a request; silent: after some progress
//   half             half an answer, then the end
//   flood            a line without an end
//   chatter          progress without an end
//   stderr           a megabyte on stderr, then a crash
//   bad-json, wrong-id, wrong-kind, no-id            answers that are none
//   hello-instead, calibration-instead               answers to another question
//   cuda             a fatal CUDA error, then the end with kExitCudaError
//   deaf             closes its stdin and says nothing
#include "core/ipc/runner_protocol.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

namespace {

using namespace fusescope;

std::string way = "good";
long bad_from = 1;

void say(const std::string& text) {
    std::size_t sent = 0;
    while (sent < text.size()) {
        const ssize_t wrote = write(STDOUT_FILENO, text.data() + sent, text.size() - sent);
        if (wrote <= 0) std::_Exit(0); // nobody listens
        sent += static_cast<std::size_t>(wrote);
    }
}

void answer(std::int64_t id, RunnerEvent event) {
    const auto line = encodeAnswer({id, std::move(event)});
    if (line) say(*line);
}

[[noreturn]] void hang() {
    for (;;) pause();
}

RunnerHello hello() {
    RunnerHello hello;
    hello.protocol = kRunnerProtocol;
    hello.build = "0.1.0";
    hello.torch = "2.11.0+cu130";
    hello.cuda = "13.0";
    hello.kernels = true;
    if (way == "cpu") return hello;
    hello.driver = "580.159.04";
    hello.gpus.push_back({"NVIDIA H200", 90, 132, 150e9, 148e9, 50e6, "GPU-00000000-0000-0000-0000-000000000000"});
    return hello;
}

int rounds = 20; // of the request

Spread spread(double us) {
    if (rounds == 1) return {us, us, us, 1};
    return {us, 0.99 * us, 1.02 * us, rounds};
}

// The fused form moves its bytes at 4 TB/s; the baseline takes five times as long in seven kernels.
Comparison compare(const char* direction, double bytes, bool fused) {
    const double us = std::max(4.0, bytes / 4e12 * 1e6) * (way == "cpu" ? 100 : 1);
    Comparison one;
    one.direction = direction;
    one.baseline.us = spread(5 * us);
    one.baseline.launches = way == "cpu" ? 0 : 7;
    one.baseline.peak_bytes = 6e8;
    one.baseline.relative_error = 2e-3;
    one.baseline.max_abs_error = 0.03;
    one.baseline.bitwise = true;
    if (way != "cpu") one.baseline.graph_us = spread(4.5 * us);
    if (!fused) return one;
    one.has_fused = true;
    one.fused_name = "fusescope::fake";
    one.fused = one.baseline;
    one.fused.us = spread(us);
    one.fused.launches = way == "cpu" ? 0 : 1;
    one.fused.peak_bytes = 1.5e8;
    if (way != "cpu") one.fused.graph_us = spread(0.9 * us);
    if (std::string(direction) == "backward") {
        one.fused.bitwise = false;
        one.fused.relative_to_baseline = 1e-3;
    }
    return one;
}

RunnerResult resultOf(const RunnerCall& call) {
    if (std::holds_alternative<DeviceRequest>(call)) return hello();
    const bool gpu = way != "cpu";
    if (std::holds_alternative<CalibrateRequest>(call)) {
        CalibrateResult result;
        result.device = gpu ? "NVIDIA H200" : "CPU";
        result.on_gpu = gpu;
        result.copy_Bps = gpu ? 4.2e12 : 2e10;
        result.bf16_matmul_flops = gpu ? 7.4e14 : 1e11;
        result.launch_us = gpu ? 2.1 : 0;
        result.copy_spread = 0.01;
        result.matmul_spread = 0.04;
        result.launch_spread = gpu ? 0.1 : 0;
        result.seconds = 1.5;
        return result;
    }
    const auto& request = std::get<FuseRequest>(call);
    rounds = request.effort.rounds;
    FuseResult result;
    result.region = request.region.id;
    result.pattern = request.region.pattern;
    result.device = gpu ? "NVIDIA H200" : "CPU (reference kernels)";
    result.on_gpu = gpu;
    result.copy_Bps = gpu ? 4.2e12 : 2e10;
    const bool fused = !request.region.fused.steps.empty();
    result.directions.push_back(compare("forward", request.region.fused_bytes, fused));
    if (request.region.backward)
        result.directions.push_back(compare("backward", request.region.fused_backward_bytes, fused));
    result.seconds = 0.5;
    if (way == "busy") {
        result.busy = true;
        result.busy_note = "another process keeps the GPU busy for 90% of the time";
    }
    return result;
}

// The ways that differ before the first request.
void greet() {
    if (way == "crash-at-start") std::abort();
    if (way == "hang-at-start") hang();
    if (way == "exit-at-start") {
        std::fputs("fake_runner: libtorch.so: cannot open shared object file\n", stderr);
        std::_Exit(127);
    }
    if (way == "greeting") say("\r\n* Welcome to gpu-box *\n[maintenance on Sunday]\n");
    if (way == "no-hello")
        for (int i = 0; i < 300; ++i) say("Welcome to gpu-box\n");
    if (way == "huge-hello") say(std::string(kMaxRunnerLine + 65536, 'x'));
    std::string line = encodeHello(hello());
    if (way == "old" || way == "new") {
        const std::string now = "\"protocol\":" + std::to_string(kRunnerProtocol);
        line.replace(line.find(now), now.size(), "\"protocol\":" + std::to_string(way == "old" ? 0 : 99));
    }
    if (way == "half-hello") {
        say(line.substr(0, line.size() / 2));
        std::_Exit(0);
    }
    say(line);
}

void misbehave(std::int64_t id) {
    const auto progress = [&] { answer(id, RunnerProgress{"baseline", 0.1}); };
    if (way == "unsupported" || way == "out_of_memory" || way == "time_limit")
        return answer(id, RunnerError{way, "made up", false});
    progress();
    if (way == "crash") std::abort();
    if (way == "exit") std::_Exit(3);
    if (way == "hang" || way == "silent") hang();
    if (way == "half") {
        say(R"({"id":)" + std::to_string(id) + R"(,"ev":"res)");
        std::_Exit(0);
    }
    if (way == "flood")
        for (;;) say(std::string(65536, 'x'));
    if (way == "chatter")
        for (;;) progress();
    if (way == "stderr") {
        for (int i = 0; i < 16; ++i) std::cerr << std::string(65535, 'e') << '\n';
        std::cerr << "the last words\n";
        std::abort();
    }
    if (way == "bad-json") say(R"({"id":)" + std::to_string(id) + ",\"ev\":}\n");
    if (way == "wrong-id") answer(id + 1000, RunnerError{"internal", "of another", false});
    if (way == "wrong-kind") say("{\"id\":" + std::to_string(id) + ",\"ev\":\"party\"}\n");
    if (way == "hello-instead") answer(id, RunnerResult(hello()));
    if (way == "calibration-instead") answer(id, RunnerResult(CalibrateResult{}));
    if (way == "no-id") answer(0, RunnerError{"internal", "the driver is unwell", false});
    if (way == "cuda") {
        answer(id, RunnerError{"cuda", "an illegal memory access was encountered", true});
        std::_Exit(kExitCudaError);
    }
    if (way == "deaf") {
        close(STDIN_FILENO);
        hang();
    }
    hang();
}

std::string pending;

// A line of stdin within the time; false: none, or the end.
bool readLine(std::string& line, int timeout_ms) {
    for (;;) {
        const std::size_t end = pending.find('\n');
        if (end != std::string::npos) {
            line = pending.substr(0, end);
            pending.erase(0, end + 1);
            return true;
        }
        pollfd wait{STDIN_FILENO, POLLIN, 0};
        if (poll(&wait, 1, timeout_ms) <= 0) return false;
        char bytes[65536];
        const ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got <= 0) std::_Exit(0);
        pending.append(bytes, static_cast<std::size_t>(got));
    }
}

// Two seconds of work. True: it was cancelled, and that was heard of.
bool work(std::int64_t id) {
    for (int i = 0; i < 20; ++i) {
        answer(id, RunnerProgress{"forward, baseline and fused", i / 20.0});
        std::string line;
        if (way == "late") {
            (void)poll(nullptr, 0, 100);
        } else if (readLine(line, 100)) {
            const auto request = decodeRequest(line);
            const auto* cancel = request ? std::get_if<CancelRequest>(&request->call) : nullptr;
            if (cancel != nullptr && cancel->target == id) {
                answer(id, RunnerError{"cancelled", "cancelled", false});
                return true;
            }
        }
    }
    return false;
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1) way = argv[1];
    if (argc > 2) bad_from = std::strtol(argv[2], nullptr, 10);
    const std::set<std::string> well{"good", "cpu", "slow", "late", "busy", "greeting"};
    greet();
    std::string line;
    for (long number = 1; readLine(line, -1); ++number) {
        const auto request = decodeRequest(line);
        if (!request) {
            answer(requestIdIn(line), RunnerError{"bad_request", request.error().message(), false});
            continue;
        }
        if (const auto* cancel = std::get_if<CancelRequest>(&request->call)) {
            if (way == "late") answer(cancel->target, RunnerError{"cancelled", "too late", false});
            --number;
            continue;
        }
        if (!well.contains(way) && number >= bad_from) {
            misbehave(request->id);
            continue;
        }
        if ((way == "slow" || way == "late") && work(request->id)) continue;
        answer(request->id, RunnerProgress{"forward, baseline and fused", 0.5});
        answer(request->id, resultOf(request->call));
    }
    return 0;
}
