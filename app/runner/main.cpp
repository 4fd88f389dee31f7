// SPDX-License-Identifier: GPL-3.0-or-later
// fusescope-runner: measures regions of a model with LibTorch and the fused kernels. Speaks the protocol of
// core/ipc/runner_protocol.h on stdin and stdout, and ends when stdin does.
//
//   fusescope-runner
//   fusescope-runner --load-torchscript FILE OUT      what it starts itself for load_torchscript
#include "cpu_memory.h"
#include "device.h"
#include "kernels.h"
#include "line_io.h"
#include "request_queue.h"
#include "serve.h"
#include "torchscript.h"
#include "watchdog.h"

#include "core/ipc/exit_codes.h"
#include "core/ipc/runner_protocol.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

namespace {

using namespace fusescope;
using namespace fusescope::runner;

int answers = -1; // the descriptor that answers go to

// Descriptor 1 carries answers and nothing else: whatever a library prints goes to stderr. Libraries run code before
// main(), so this runs before theirs.
void guardStdout(int, char**, char**) {
    answers = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (answers < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(kExitRunnerFailed);
}
__attribute__((section(".preinit_array"), used)) void (*const guard_stdout)(int, char**, char**) = guardStdout;

// Nothing is torn down: destructors of Torch and CUDA take time, and fail after a CUDA error.
[[noreturn]] void end(int status) { std::_Exit(status); }

class Connection {
public:
    explicit Connection(int fd) : writer_(fd) {}
    void send(const RunnerAnswer& answer) {
        const Result<std::string> line = encodeAnswer(answer);
        if (!line)
            sendError(answer.id, "internal", line.error().message());
        else if (!writer_.write(*line))
            end(kExitOk); // nobody reads any more
    }
    void sendError(std::int64_t id, const char* code, const std::string& message) {
        send({id, RunnerError{code, message, false}});
    }
    bool sendHello(const RunnerHello& hello) { return writer_.write(encodeHello(hello)); }

private:
    LineWriter writer_;
};

void take(const std::string& line, RequestQueue& queue, Connection& connection) {
    const Result<RunnerRequest> request = decodeRequest(line);
    if (!request) return connection.sendError(requestIdIn(line), "bad_request", request.error().message());
    if (const auto* cancel = std::get_if<CancelRequest>(&request->call)) {
        if (queue.cancel(cancel->target))
            connection.sendError(cancel->target, "cancelled", "cancelled before it began");
        return;
    }
    if (!queue.push(*request))
        connection.sendError(request->id, "bad_request",
                             "expected at most " + std::to_string(kMostWaiting) + " requests that wait, found more");
}

void readRequests(RequestQueue& queue, Connection& connection) {
    LineReader reader(STDIN_FILENO, kMaxRunnerLine);
    std::string line;
    for (;;) {
        const LineReader::Got got = reader.next(line);
        if (got == LineReader::Got::End) break;
        if (got == LineReader::Got::TooLong)
            connection.sendError(0, "bad_request",
                                 "expected a line of at most " + std::to_string(kMaxRunnerLine) +
                                     " bytes, found a longer one");
        else if (!line.empty())
            take(line, queue, connection);
    }
    queue.close();
    // What runs stops at its next step; what does not come to one ends with the process.
    std::this_thread::sleep_for(std::chrono::seconds(2));
    end(kExitOk);
}

// What a destructor of Torch throws once the CUDA context is lost cannot be caught; the answer is given all the same.
struct {
    Connection* connection = nullptr;
    const RequestQueue* queue = nullptr;
} terminating;

[[noreturn]] void answerAndEnd() {
    const bool lost = Device::get().lost();
    if (terminating.queue != nullptr)
        terminating.connection->send(
            {terminating.queue->running(),
             RunnerError{lost ? "cuda" : "internal", lost ? "the CUDA context was lost" : "an exception was not caught",
                         true}});
    end(lost ? kExitCudaError : kExitRunnerFailed);
}

int serveRequests(Connection& connection) {
    cpu_memory::install();
    const std::string kernels_problem = loadKernels();
    const Device& device = Device::get();
    if (!connection.sendHello(hello(kernels_problem))) return kExitOk;

    RequestQueue queue;
    terminating = {&connection, &queue};
    std::set_terminate(answerAndEnd);
    Watchdog watchdog([&](std::int64_t id, const Failed& why) {
        connection.send({id, RunnerError{why.error.code, why.error.message + "; an operator cannot be stopped", true}});
        end(kExitRunnerFailed);
    });
    Server server(
        device, kernels_problem, [&](const RunnerAnswer& answer) { connection.send(answer); }, watchdog);
    std::thread([&] { readRequests(queue, connection); }).detach(); // lives as long as the process
    while (const auto request = queue.pop()) {
        const bool goes_on = server.serve(*request, queue.cancelled());
        queue.finished();
        if (!goes_on) return kExitCudaError;
    }
    return kExitOk;
}

} // namespace

int main(int argc, char** argv) {
    const pid_t parent = getppid();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); // no orphan, even if its descriptors live on elsewhere
    if (getppid() != parent) end(kExitOk);
    const rlimit no_core{0, 0};
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)std::signal(SIGPIPE, SIG_IGN);

    if (argc == 4 && std::strcmp(argv[1], "--load-torchscript") == 0)
        end(loadTorchscriptHere(argv[2], argv[3], answers));
    if (argc != 1) {
        static constexpr char usage[] =
            "usage: fusescope-runner   (a FuseScope program starts it and talks to its stdin)\n";
        (void)!write(STDERR_FILENO, usage, sizeof usage - 1);
        end(kExitUsage);
    }
    Connection connection(answers);
    try {
        end(serveRequests(connection));
    } catch (const std::exception& e) {
        connection.sendError(0, "internal", e.what());
        end(kExitRunnerFailed);
    }
}
