// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_client.h"

#include "core/ipc/runner_process.h"
#include "core/ipc/runner_talk.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace fusescope {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kSlice = 100; // ms: how often the wish to stop and the runner's death are looked at

// "150 s", "0.3 s".
std::string secondsText(int ms) {
    return ms % 1000 == 0 ? std::to_string(ms / 1000) + " s"
                          : std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
}

} // namespace

class RunnerClient::Process {
public:
    Process(const std::string& name, const RunnerLimits& limits)
        : limits_(limits), process_(name, kMaxRunnerLine, limits.stderr_bytes) {}

    Status start(const std::vector<std::string>& command, const std::function<bool()>& stop);
    Result<std::int64_t> send(RunnerCall call, int answer_ms);
    void cancel(std::int64_t id);
    Result<std::optional<RunnerAnswer>> next(int timeout_ms);

    RunnerHello hello;
    [[nodiscard]] const ipc::RunnerProcess& process() const { return process_; }
    [[nodiscard]] bool over() const { return over_.has_value(); }
    [[nodiscard]] std::size_t open() const { return open_.size(); }

private:
    struct Open {
        Clock::time_point deadline = Clock::time_point::max();
        int limit_ms = 0;
        bool cancelled = false;
    };

    Error fail(ErrorCode code, std::string expected, const std::string& found);
    Error ended(const std::string& expected);
    std::optional<Error> late();
    // An event to hand on; nothing for what is dropped.
    Result<std::optional<RunnerAnswer>> take(std::string_view line);

    RunnerLimits limits_;
    ipc::RunnerProcess process_;
    std::optional<Error> over_;
    std::map<std::int64_t, Open> open_;
    RunnerTalk talk_;
    Clock::time_point last_line_;
};

Error RunnerClient::Process::fail(ErrorCode code, std::string expected, const std::string& found) {
    process_.stop();
    over_ = Error{code, std::move(expected), found + process_.lastWords(), ""};
    open_.clear();
    return *over_;
}

Error RunnerClient::Process::ended(const std::string& expected) {
    return fail(ErrorCode::Internal, expected, process_.fate());
}

Status RunnerClient::Process::start(const std::vector<std::string>& command, const std::function<bool()>& stop) {
    if (Status started = process_.start(command); !started) {
        over_ = started.error();
        return started;
    }
    const std::string expected = "the hello of " + process_.name();
    const auto deadline = Clock::now() + milliseconds(limits_.hello_ms);
    for (;;) {
        if (const auto line = process_.takeLine()) {
            RunnerTalk::Event event = talk_.take(*line);
            if (const auto* error = std::get_if<Error>(&event))
                return fail(error->code, error->code == ErrorCode::Unsupported ? error->expected : expected,
                            error->found);
            if (!talk_.greeted()) continue;
            hello = std::get<RunnerHello>(std::move(event));
            return done();
        }
        if (process_.lineTooLong())
            return fail(ErrorCode::Limit, expected, "a line of more than " + std::to_string(kMaxRunnerLine) + " bytes");
        if (process_.ended()) return ended(expected);
        if (stop && stop()) return fail(ErrorCode::Cancelled, expected, "that it was cancelled");
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
        if (left <= 0)
            return fail(ErrorCode::Limit, expected + " within " + secondsText(limits_.hello_ms),
                        "no answer; it was stopped");
        process_.pump(static_cast<int>(std::min<long long>(left, kSlice)));
    }
}

Result<std::int64_t> RunnerClient::Process::send(RunnerCall call, int answer_ms) {
    if (over_) return *over_;
    const std::int64_t id = talk_.newId();
    const Result<std::string> line = encodeRequest({id, std::move(call)});
    if (!line) return line.error();
    Open request;
    request.limit_ms = answer_ms;
    if (answer_ms > 0) request.deadline = Clock::now() + milliseconds(answer_ms);
    if (open_.empty()) last_line_ = Clock::now();
    open_.emplace(id, request);
    talk_.expect(id);
    process_.write(*line);
    return id;
}

void RunnerClient::Process::cancel(std::int64_t id) {
    const auto at = open_.find(id);
    if (over_ || at == open_.end() || at->second.cancelled) return;
    at->second.cancelled = true;
    at->second.limit_ms = limits_.cancel_ms;
    at->second.deadline = std::min(at->second.deadline, Clock::now() + milliseconds(limits_.cancel_ms));
    if (const auto line = encodeRequest({talk_.newId(), CancelRequest{id}})) process_.write(*line);
}

std::optional<Error> RunnerClient::Process::late() {
    if (open_.empty()) return std::nullopt;
    const auto now = Clock::now();
    const std::string answer = "an answer of " + process_.name();
    for (const auto& [id, request] : open_)
        if (now >= request.deadline)
            return fail(ErrorCode::Limit, request.cancelled ? answer + " to a cancel" : answer,
                        "no answer for " + secondsText(request.limit_ms) + "; it was stopped");
    if (now - last_line_ >= milliseconds(limits_.silence_ms))
        return fail(ErrorCode::Limit, answer, "no answer for " + secondsText(limits_.silence_ms) + "; it was stopped");
    return std::nullopt;
}

Result<std::optional<RunnerAnswer>> RunnerClient::Process::take(std::string_view line) {
    last_line_ = Clock::now();
    RunnerTalk::Event event = talk_.take(line);
    const std::string expected = "answers of " + process_.name() + " in its protocol";
    if (const auto* broken = std::get_if<Error>(&event)) return fail(broken->code, expected, broken->found);
    auto* answer = std::get_if<RunnerAnswer>(&event);
    if (answer == nullptr) return std::optional<RunnerAnswer>();
    const auto* error = std::get_if<RunnerError>(&answer->event);
    if (answer->id == 0 && error != nullptr) // of the runner, not of a request
        return fail(ErrorCode::Internal, expected, "its error '" + error->code + "': " + error->message);
    if (error != nullptr || std::holds_alternative<RunnerResult>(answer->event)) open_.erase(answer->id);
    return std::optional(std::move(*answer));
}

Result<std::optional<RunnerAnswer>> RunnerClient::Process::next(int timeout_ms) {
    const auto deadline = Clock::now() + milliseconds(std::max(0, timeout_ms));
    for (bool looked = false;;) {
        if (over_) return *over_;
        const auto line = process_.takeLine();
        if (line) {
            auto event = take(*line);
            if (!event || *event) return event;
        } else {
            if (process_.lineTooLong())
                return fail(ErrorCode::Limit, "answers of " + process_.name() + " in its protocol",
                            "a line of more than " + std::to_string(kMaxRunnerLine) + " bytes");
            if (process_.ended()) return ended("an answer of " + process_.name());
            if (!looked) { // what is there already counts before any time limit does
                process_.pump(0);
                looked = true;
                continue;
            }
        }
        if (auto error = late()) return *std::move(error);
        const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now()).count();
        if (left <= 0) return std::optional<RunnerAnswer>();
        if (!line) process_.pump(static_cast<int>(std::min<long long>(left, kSlice)));
    }
}

RunnerClient::RunnerClient() = default;
RunnerClient::~RunnerClient() = default;

Result<std::unique_ptr<RunnerClient>> RunnerClient::start(const std::vector<std::string>& command,
                                                          const RunnerLimits& limits,
                                                          const std::function<bool()>& stop) {
    std::unique_ptr<RunnerClient> client(new RunnerClient);
    const std::string first = command.empty() ? std::string() : command.front();
    client->process_ = std::make_unique<Process>(first.substr(first.rfind('/') + 1), limits);
    if (const Status started = client->process_->start(command, stop); !started) return started.error();
    return client;
}

const RunnerHello& RunnerClient::hello() const { return process_->hello; }
Result<std::int64_t> RunnerClient::send(RunnerCall call, int answer_ms) {
    return process_->send(std::move(call), answer_ms);
}
void RunnerClient::cancel(std::int64_t id) { process_->cancel(id); }
Result<std::optional<RunnerAnswer>> RunnerClient::next(int timeout_ms) { return process_->next(timeout_ms); }
bool RunnerClient::alive() const { return !process_->over(); }
std::size_t RunnerClient::open() const { return process_->open(); }
int RunnerClient::pid() const { return process_->process().pid(); }
const std::string& RunnerClient::errorText() const { return process_->process().errorText(); }

} // namespace fusescope
