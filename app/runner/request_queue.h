// SPDX-License-Identifier: GPL-3.0-or-later
// Requests that wait, in the order they came, and the one that runs.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

namespace fusescope::runner {

constexpr std::size_t kMostWaiting = 256;

class RequestQueue {
public:
    // False: too many wait.
    bool push(RunnerRequest request);
    // The next one, which then runs; waits for it. Nothing once the queue was closed: what still waited is dropped.
    std::optional<RunnerRequest> pop();
    // Nothing runs any more.
    void finished();
    [[nodiscard]] std::int64_t running() const { return running_; } // 0: nothing
    // Removes a waiting request (true: the caller answers it) or tells the running one to stop.
    bool cancel(std::int64_t id);
    void close();
    [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; } // the running one

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<RunnerRequest> waiting_;
    std::atomic<std::int64_t> running_{0};
    bool closed_ = false;
    std::atomic<bool> cancelled_{false};
};

} // namespace fusescope::runner
