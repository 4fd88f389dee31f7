// SPDX-License-Identifier: GPL-3.0-or-later
#include "request_queue.h"

#include <algorithm>
#include <utility>

namespace fusescope::runner {

bool RequestQueue::push(RunnerRequest request) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= kMostWaiting) return false;
    waiting_.push_back(std::move(request));
    changed_.notify_one();
    return true;
}

std::optional<RunnerRequest> RequestQueue::pop() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (closed_) return std::nullopt;
    RunnerRequest request = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = request.id;
    cancelled_ = false;
    return request;
}

void RequestQueue::finished() {
    const std::lock_guard lock(mutex_);
    running_ = 0;
}

bool RequestQueue::cancel(std::int64_t id) {
    const std::lock_guard lock(mutex_);
    if (running_ == id && id != 0) {
        cancelled_ = true;
        return false;
    }
    const auto found =
        std::find_if(waiting_.begin(), waiting_.end(), [&](const RunnerRequest& r) { return r.id == id; });
    if (found == waiting_.end()) return false;
    waiting_.erase(found);
    return true;
}

void RequestQueue::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    cancelled_ = true;
    changed_.notify_one();
}

} // namespace fusescope::runner
