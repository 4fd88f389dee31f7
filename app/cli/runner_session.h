// SPDX-License-Identifier: GPL-3.0-or-later
// A runner for one command: started when first asked, started again after it died, its progress on a terminal's stderr,
// Ctrl-C cancels what it does.
#pragma once

#include "core/ipc/runner_client.h"

#include <memory>
#include <optional>
#include <string>

namespace fusescope::cli {

constexpr int kExitInterrupted = 130; // as a shell says of a program that ended by Ctrl-C

class RunnerSession {
public:
    explicit RunnerSession(std::string asked) : asked_(std::move(asked)) {}
    RunnerSession(const RunnerSession&) = delete;
    RunnerSession& operator=(const RunnerSession&) = delete;
    ~RunnerSession() = default;

    // An error is Cancelled after Ctrl-C, Unsupported where the runner is on another device than the one before it.
    // seconds: that an answer may take.
    [[nodiscard]] Status start(double seconds);
    struct Answer { // one of them; none after Ctrl-C
        std::optional<RunnerResult> result;
        std::optional<RunnerError> refused; // the runner goes on, unless it is fatal
        std::optional<Error> failed;        // the runner is gone
    };
    // what: shown before the progress. A runner that had rested and is gone without having begun (no line about the
    // request) is replaced once, and asked again.
    [[nodiscard]] Answer ask(RunnerCall call, double seconds, const std::string& what);
    [[nodiscard]] const RunnerHello& hello() const { return hello_; }
    [[nodiscard]] const std::string& commandText() const { return command_; } // that was started
    [[nodiscard]] bool alive() const { return client_ != nullptr && client_->alive(); }
    [[nodiscard]] static bool interrupted();

private:
    // begun: the runner said something about the request.
    [[nodiscard]] Answer askOnce(RunnerCall call, double seconds, const std::string& what, bool& begun);
    void show(const std::string& what, const RunnerProgress& progress);
    void clear();

    std::string asked_, command_, device_; // device_: of the first runner
    std::unique_ptr<RunnerClient> client_;
    RunnerHello hello_;
    bool shown_ = false, rested_ = false; // rested_: the runner has answered something before
};

} // namespace fusescope::cli
