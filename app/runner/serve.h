// SPDX-License-Identifier: GPL-3.0-or-later
// One request, one answer, whatever happens.
#pragma once

#include "core/ipc/runner_protocol.h"
#include "device.h"
#include "job.h"
#include "watchdog.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>

namespace fusescope::runner {

class Server {
public:
    using Send = std::function<void(const RunnerAnswer&)>;

    Server(const Device& device, std::string kernels_problem, Send send, Watchdog& watchdog)
        : device_(device), kernels_problem_(std::move(kernels_problem)), send_(std::move(send)), watchdog_(watchdog) {}

    // False: the answer was fatal, and the program has to end.
    bool serve(const RunnerRequest& request, const std::atomic<bool>& cancelled);

private:
    RunnerResult answer(const RunnerCall& call, Job& job);
    RunnerError errorOf(const std::exception& error) const;

    const Device& device_;
    std::string kernels_problem_;
    Send send_;
    Watchdog& watchdog_;
    std::chrono::steady_clock::time_point idle_since_ = std::chrono::steady_clock::now();
};

} // namespace fusescope::runner
