// SPDX-License-Identifier: Apache-2.0
// Progress of a long job and the wish to cancel it, shared by the worker and whoever watches. Polled, not pushed:
// the worker stores numbers, the watcher reads them from a timer, nobody calls back into another thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace fusescope {

class Progress {
public:
    // stage: string literal, shown to the user ("reading events"). total: units of work, 0 = unknown.
    void begin(const char* stage, std::uint64_t total = 0) noexcept {
        done_.store(0, std::memory_order_relaxed);
        total_.store(total, std::memory_order_relaxed);
        stage_.store(stage, std::memory_order_release);
    }
    void advance(std::uint64_t done) noexcept { done_.store(done, std::memory_order_relaxed); }
    void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

    [[nodiscard]] const char* stage() const noexcept { return stage_.load(std::memory_order_acquire); }
    // 0..1, or a negative number while the total is unknown.
    [[nodiscard]] double fraction() const noexcept {
        const auto total = total_.load(std::memory_order_relaxed);
        const auto done = done_.load(std::memory_order_relaxed);
        if (total == 0) return -1.0;
        return done >= total ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    }

private:
    std::atomic<const char*> stage_{""};
    std::atomic<std::uint64_t> done_{0}, total_{0};
    std::atomic<bool> cancelled_{false};
};

} // namespace fusescope
