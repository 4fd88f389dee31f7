// SPDX-License-Identifier: GPL-3.0-or-later
// What one request works under: its time limit, whether somebody cancelled it, where its progress goes.
// Torch reports by exceptions, so a request ends by one too: Failed, caught in serve.cpp and nowhere else.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fusescope::runner {

class Failed : public std::exception {
public:
    Failed(std::string code, std::string message) : error{std::move(code), std::move(message), false} {}
    [[nodiscard]] const char* what() const noexcept override { return error.message.c_str(); }
    RunnerError error;
};

class Job {
public:
    using Clock = std::chrono::steady_clock;
    using Send = std::function<void(RunnerEvent)>;

    Job(const std::atomic<bool>& cancelled, Send send) : cancelled_(cancelled), send_(std::move(send)) {}

    void limitTime(double seconds) { limit_s_ = seconds; }
    // Throws Failed once the request was cancelled or its time is up.
    void check() const {
        if (const auto stop = reasonToStop()) throw Failed(*stop);
    }
    // Also from another thread.
    [[nodiscard]] std::optional<Failed> reasonToStop() const {
        if (cancelled_.load(std::memory_order_relaxed)) return Failed("cancelled", "cancelled");
        const double limit = limit_s_;
        if (limit > 0 && seconds() > limit)
            return Failed("time_limit", "expected to end within " + std::to_string(static_cast<int>(limit)) +
                                            " s, but it takes longer");
        return std::nullopt;
    }
    [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
    [[nodiscard]] double secondsLeft() const { return limit_s_ > 0 ? limit_s_ - seconds() : 1e9; }
    void progress(std::string_view stage, double fraction) const {
        send_(RunnerProgress{std::string(stage), fraction});
    }
    void log(std::string text) const { send_(RunnerLog{std::move(text)}); }

private:
    Clock::time_point begin_ = Clock::now();
    std::atomic<double> limit_s_{0}; // 0: none
    const std::atomic<bool>& cancelled_;
    Send send_;
};

} // namespace fusescope::runner
