// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/loader.h"

#include "core/cost/calibration.h"
#include "ui/base/paint.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace fusescope {
namespace {
constexpr std::chrono::seconds kEnd{3}; // that a cancelled run gets at the loader's end
std::atomic<int> all_running{0};
} // namespace

struct Loader::Job {
    Progress progress;
    std::optional<Result<AnalysisPtr>> result;
    std::vector<Error> unusable; // of every file, when none could be used
};

struct Loader::Runs {
    std::mutex mutex;
    std::condition_variable ended;
    Loader* owner = nullptr; // null: it is gone, nobody is to be told
    int running = 0;
};

Loader::Loader(QObject* parent, Analyse analyse)
    : QObject(parent), analyse_(std::move(analyse)), runs_(std::make_shared<Runs>()) {
    runs_->owner = this;
    constexpr int kPollMs = 50;
    poll_.setInterval(kPollMs);
    connect(&poll_, &QTimer::timeout, this, [this] {
        if (job_) Q_EMIT progressed(QString::fromUtf8(job_->progress.stage()), job_->progress.fraction());
    });
}

Loader::~Loader() {
    if (job_) job_->progress.cancel();
    std::unique_lock lock(runs_->mutex);
    runs_->owner = nullptr;
    runs_->ended.wait_for(lock, kEnd, [this] { return runs_->running == 0; });
}

bool Loader::someStillRun() { return all_running > 0; }

void Loader::start(std::vector<std::string> paths, AnalyzeOptions options, AnalysisPtr keep) {
    if (job_) job_->progress.cancel();
    options.calibrations = calibrationFolder();
    const auto job = std::make_shared<Job>();
    job_ = job;
    {
        const std::lock_guard lock(runs_->mutex);
        ++runs_->running;
        ++all_running;
    }
    // Nothing of this object: the thread may outlive it.
    std::thread([job, runs = runs_, analyse = analyse_, paths = std::move(paths), options = std::move(options),
                 keep = std::move(keep)]() mutable {
        try { // an exception that leaves the thread would end the program
            job->result = analyse(paths, options, job->progress, keep, &job->unusable);
        } catch (const std::exception& error) {
            job->unusable.clear();
            job->result = Error{ErrorCode::Internal, "the analysis to finish", error.what(), ""};
        }
        keep.reset(); // it may be the last one
        const std::lock_guard lock(runs->mutex);
        if (Loader* owner = runs->owner) // queued to the GUI thread
            QMetaObject::invokeMethod(
                owner, [owner, job] { owner->done(job); }, Qt::QueuedConnection);
        --runs->running;
        --all_running;
        runs->ended.notify_all();
    }).detach();
    poll_.start();
    Q_EMIT started();
}

void Loader::cancel() {
    if (!job_) return;
    job_->progress.cancel();
    job_.reset();
    poll_.stop();
    Q_EMIT stopped();
}

void Loader::done(const std::shared_ptr<Job>& job) {
    if (job != job_) return; // cancelled or overtaken
    job_.reset();
    poll_.stop();
    if (*job->result)
        Q_EMIT finished(**job->result);
    else if (job->result->error().code != ErrorCode::Cancelled) {
        if (job->unusable.empty()) Q_EMIT failed(text(job->result->error().message()));
        for (const Error& error : job->unusable) Q_EMIT failed(text(error.message()));
    }
    Q_EMIT stopped();
}

} // namespace fusescope
