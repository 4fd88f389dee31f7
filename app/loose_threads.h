// SPDX-License-Identifier: GPL-3.0-or-later
// Threads beside the window that its end does not hang on: told to stop, waited for some seconds, then left behind.
#pragma once

#include "core/base/progress.h"

#include <QObject>

#include <chrono>
#include <functional>
#include <memory>

namespace fusescope {

class LooseThreads {
public:
    // What was made is told in the owner's thread, unless the owner is gone by then.
    using Tell = std::function<void()>;
    // Runs in a thread of its own; nothing of the owner may be used there, which it may outlive. It asks `end` wherever
    // it takes longer than a moment; no exception may leave it.
    using Run = std::function<Tell(const Progress& end)>;

    explicit LooseThreads(QObject* owner);
    ~LooseThreads(); // cancels, and waits at most some seconds
    LooseThreads(const LooseThreads&) = delete;
    LooseThreads& operator=(const LooseThreads&) = delete;

    void start(Run run);
    void waitFor(std::chrono::milliseconds most); // until all have ended
    // Whether some thread outlived its owner and still runs: then the program has to end without its destructors.
    [[nodiscard]] static bool someStillRun();

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

} // namespace fusescope
