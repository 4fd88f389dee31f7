// SPDX-License-Identifier: GPL-3.0-or-later
// Ends the program when a request neither ends in time nor stops when it is cancelled: it polls between operators, and
// one operator may take minutes, or hang. The request gets its answer first.
#pragma once

#include "job.h"

#include <cstdint>
#include <functional>
#include <mutex>

namespace fusescope::runner {

class Watchdog {
public:
    // `bite` answers the request and ends the program.
    using Bite = std::function<void(std::int64_t id, const Failed& why)>;

    explicit Watchdog(Bite bite); // its thread lives as long as the process, and so must this
    void begin(std::int64_t id, const Job& job);
    void end(); // from now on the caller answers

private:
    [[noreturn]] void watch();

    Bite bite_;
    std::mutex mutex_;
    const Job* job_ = nullptr;
    std::int64_t id_ = 0;
    double stopping_s_ = 0; // for how long it has been asked to stop
};

} // namespace fusescope::runner
