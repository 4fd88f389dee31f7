// SPDX-License-Identifier: Apache-2.0
// Starts a runner and speaks the protocol of runner_protocol.h with it, for programs without Qt. Whatever the runner
// does - dies, hangs, floods, talks nonsense - is an answer here: an Error that says what it did and quotes the end of
// its stderr. Nothing blocks longer than it was told to. For one thread; the runner is killed when that thread ends.
#pragma once

#include "core/base/result.h"
#include "core/ipc/runner_protocol.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace fusescope {

struct RunnerLimits {
    int hello_ms = 90'000;               // LibTorch loads from a cold disk, over ssh
    int silence_ms = 150'000;            // with a request open: no line at all for so long is a hang
    int cancel_ms = 10'000;              // a cancelled request has to end within
    std::size_t stderr_bytes = 64 << 10; // kept, the last ones
};

class RunnerClient {
public:
    // Starts the command and waits for its hello. stop: asked now and then; true ends the waiting (Cancelled).
    // Errors: not found, no hello in time, another protocol (Unsupported), death.
    [[nodiscard]] static Result<std::unique_ptr<RunnerClient>> start(const std::vector<std::string>& command,
                                                                     const RunnerLimits& limits = {},
                                                                     const std::function<bool()>& stop = {});
    ~RunnerClient(); // kills it, leaves no zombie
    RunnerClient(const RunnerClient&) = delete;
    RunnerClient& operator=(const RunnerClient&) = delete;

    [[nodiscard]] const RunnerHello& hello() const;
    // The request's id. answer_ms: its result or error has to be there within, however much progress is told; 0: no
    // limit. Errors: too long for a line, a runner that is gone.
    [[nodiscard]] Result<std::int64_t> send(RunnerCall call, int answer_ms = 0);
    // Of an open request, whose last event then comes (error "cancelled", or its result if that was faster). Anything
    // it says after its last event is dropped.
    void cancel(std::int64_t id);
    // The next event of the open requests, in the order they came; id 0: what the runner logs of itself. Empty: nothing
    // within the time. Error: the runner is over and was stopped; every later call says the same.
    [[nodiscard]] Result<std::optional<RunnerAnswer>> next(int timeout_ms);

    [[nodiscard]] bool alive() const;                   // false after an Error of next()
    [[nodiscard]] std::size_t open() const;             // requests without an answer
    [[nodiscard]] int pid() const;                      // 0 once it is reaped
    [[nodiscard]] const std::string& errorText() const; // the end of its stderr

private:
    class Process;
    RunnerClient();
    std::unique_ptr<Process> process_;
};

} // namespace fusescope
