// SPDX-License-Identifier: GPL-3.0-or-later
#include "watchdog.h"

#include <chrono>
#include <thread>
#include <utility>

namespace fusescope::runner {
namespace {

constexpr double kGraceSeconds = 5;
constexpr std::chrono::milliseconds kPeriod{100};

} // namespace

Watchdog::Watchdog(Bite bite) : bite_(std::move(bite)) {
    std::thread([this] { watch(); }).detach();
}

void Watchdog::begin(std::int64_t id, const Job& job) {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    id_ = id;
    stopping_s_ = 0;
}

void Watchdog::end() {
    const std::lock_guard lock(mutex_);
    job_ = nullptr;
}

void Watchdog::watch() {
    for (;;) {
        std::this_thread::sleep_for(kPeriod);
        const std::lock_guard lock(mutex_);
        if (job_ == nullptr) continue;
        const auto why = job_->reasonToStop();
        if (!why) continue;
        stopping_s_ += std::chrono::duration<double>(kPeriod).count();
        if (stopping_s_ > kGraceSeconds) bite_(id_, *why);
    }
}

} // namespace fusescope::runner
