// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/loose_threads.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace fusescope {
namespace {
constexpr std::chrono::milliseconds kEnd{3000};
std::atomic<int> all_running{0};
} // namespace

struct LooseThreads::Shared {
    std::mutex mutex;
    std::condition_variable ended;
    QObject* owner = nullptr; // null: it is gone, nobody is to be told
    int running = 0;
    Progress end;
};

LooseThreads::LooseThreads(QObject* owner) : shared_(std::make_shared<Shared>()) { shared_->owner = owner; }

LooseThreads::~LooseThreads() {
    shared_->end.cancel();
    {
        const std::lock_guard lock(shared_->mutex);
        shared_->owner = nullptr;
    }
    waitFor(kEnd);
}

void LooseThreads::waitFor(std::chrono::milliseconds most) {
    std::unique_lock lock(shared_->mutex);
    shared_->ended.wait_for(lock, most, [this] { return shared_->running == 0; });
}

bool LooseThreads::someStillRun() { return all_running > 0; }

void LooseThreads::start(Run run) {
    {
        const std::lock_guard lock(shared_->mutex);
        ++shared_->running;
        ++all_running;
    }
    std::thread([shared = shared_, run = std::move(run)]() mutable {
        Tell tell = run(shared->end);
        run = nullptr; // what it holds may be gigabytes, and the last of them
        const std::lock_guard lock(shared->mutex);
        if (shared->owner != nullptr && tell)
            QMetaObject::invokeMethod(shared->owner, std::move(tell), Qt::QueuedConnection);
        --shared->running;
        --all_running;
        shared->ended.notify_all();
    }).detach();
}

} // namespace fusescope
