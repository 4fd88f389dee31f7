// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/runner_session.h"

#include "app/cli/output.h"

#include "core/base/printable.h"
#include "core/ipc/command_line.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <utility>

namespace fusescope::cli {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupts = 0;

void onInterrupt(int) {
    interrupts = interrupts + 1;
    if (interrupts > 1) _exit(kExitInterrupted); // whoever asks twice does not want to wait; the runner dies with us
}

void listenToInterrupts() {
    struct sigaction action {};
    action.sa_handler = onInterrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, nullptr); // without SA_RESTART: waiting ends at once
}

std::string deviceOf(const RunnerHello& hello) { return hello.gpus.empty() ? "the CPU" : hello.gpus.front().name; }

} // namespace

bool RunnerSession::interrupted() { return interrupts > 0; }

Status RunnerSession::start(double seconds) {
    listenToInterrupts();
    auto command = findRunner(asked_);
    if (!command) return std::move(command).error();
    command_ = joinCommandLine(command->words);
    RunnerLimits limits;
    limits.silence_ms = static_cast<int>(1000 * seconds); // a single operator may be slow
    show("runner", {"starting", -1});
    auto client = RunnerClient::start(command->words, limits, interrupted);
    clear();
    if (!client) return std::move(client).error();
    const std::string device = deviceOf((*client)->hello());
    if (device_.empty()) device_ = device;
    if (device != device_) // the report is of one; what the other took would stand among its figures
        return Error{ErrorCode::Unsupported, "a runner on " + device_ + ", as the one before it", "one on " + device,
                     command_};
    client_ = std::move(*client);
    rested_ = false;
    hello_ = client_->hello();
    return done();
}

RunnerSession::Answer RunnerSession::ask(RunnerCall call, double seconds, const std::string& what) {
    bool begun = false;
    Answer answer = askOnce(call, seconds, what, begun);
    // Internal: it ended; what hung or talked nonsense is told.
    const bool gone = answer.failed && answer.failed->code == ErrorCode::Internal;
    if (gone && rested_ && !begun && !interrupted() && start(seconds))
        answer = askOnce(std::move(call), seconds, what, begun);
    rested_ = true;
    return answer;
}

RunnerSession::Answer RunnerSession::askOnce(RunnerCall call, double seconds, const std::string& what, bool& begun) {
    constexpr auto kGrace = std::chrono::milliseconds(1200); // for a cancelled request
    Answer answer;
    const Result<std::int64_t> id = client_->send(std::move(call), static_cast<int>(1000 * seconds));
    if (!id) {
        if (client_->alive())
            answer.refused = RunnerError{"bad_request", id.error().message(), false};
        else
            answer.failed = id.error();
        return answer;
    }
    std::optional<Clock::time_point> end;
    for (;;) {
        if (interrupted() && !end) {
            client_->cancel(*id);
            end = Clock::now() + kGrace;
        }
        if (end && Clock::now() >= *end) break;
        const auto event = client_->next(100);
        if (!event) {
            if (!interrupted()) answer.failed = event.error();
            break;
        }
        if (!*event) continue;
        if (const auto* progress = std::get_if<RunnerProgress>(&(*event)->event)) show(what, *progress);
        if ((*event)->id != *id) continue;
        begun = true;
        if (const auto* result = std::get_if<RunnerResult>(&(*event)->event)) answer.result = *result;
        if (const auto* error = std::get_if<RunnerError>(&(*event)->event))
            if (!interrupted()) answer.refused = *error;
        if (answer.result || std::holds_alternative<RunnerError>((*event)->event)) break;
    }
    if (interrupted() || (answer.refused && answer.refused->fatal)) client_.reset();
    clear();
    return answer;
}

void RunnerSession::show(const std::string& what, const RunnerProgress& progress) {
    static const bool terminal = isatty(STDERR_FILENO) == 1;
    if (!terminal) return;
    std::string line = what + ": " + progress.stage;
    if (progress.fraction >= 0) line += " " + std::to_string(static_cast<int>(100 * progress.fraction)) + "%";
    std::fprintf(stderr, "\r\x1b[K%s", printableLine(line).substr(0, 200).c_str());
    shown_ = true;
}

void RunnerSession::clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
}

} // namespace fusescope::cli
