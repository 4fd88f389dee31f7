// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/runner_talk.h"

#include <string>
#include <utility>

namespace fusescope {

void RunnerTalk::startAnew() {
    open_.clear();
    greeting_ = 0;
    greeted_ = false;
}

RunnerTalk::Event RunnerTalk::hello(std::string_view line) {
    if (isGreeting(line) && ++greeting_ <= kMaxRunnerGreeting) return Nothing{};
    Result<RunnerHello> hello = decodeHello(line);
    if (hello) {
        greeted_ = true;
        return std::move(*hello);
    }
    if (hello.error().code == ErrorCode::Unsupported) return std::move(hello).error();
    return Error{
        ErrorCode::WrongFormat, "a runner's hello", "a line that is not one (" + hello.error().message() + ")", {}};
}

RunnerTalk::Event RunnerTalk::take(std::string_view line) {
    if (!greeted_) return hello(line);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return Nothing{};
    const auto damaged = [](std::string found) {
        return Error{ErrorCode::Damaged, "answers in the runner's protocol", std::move(found), {}};
    };
    Result<RunnerAnswer> answer = decodeAnswer(line);
    if (!answer) return damaged("a line that is none (" + answer.error().message() + ")");
    const bool error = std::holds_alternative<RunnerError>(answer->event),
               result = std::holds_alternative<RunnerResult>(answer->event);
    if (answer->id == 0) return result ? Event(damaged("a result of no request")) : Event(std::move(*answer));
    if (answer->id < 0 || answer->id > last_id_)
        return damaged("an answer to request " + std::to_string(answer->id) + ", which was never made");
    if (open_.count(answer->id) == 0) return Nothing{};
    if (error || result) open_.erase(answer->id);
    return std::move(*answer);
}

} // namespace fusescope
