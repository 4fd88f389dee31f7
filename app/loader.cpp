// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/loader.h"

#include "core/cost/calibration.h"
#include "ui/base/paint.h"

#include <exception>
#include <optional>

namespace fusescope {

struct Loader::Job {
    Progress progress;
    std::optional<Result<AnalysisPtr>> result;
    std::vector<Error> unusable; // of every file, when none could be used
};

Loader::Loader(QObject* parent) : QObject(parent) {
    constexpr int kPollMs = 50;
    poll_.setInterval(kPollMs);
    connect(&poll_, &QTimer::timeout, this, [this] {
        if (job_) Q_EMIT progressed(QString::fromUtf8(job_->progress.stage()), job_->progress.fraction());
    });
}

Loader::~Loader() {
    if (job_) job_->progress.cancel();
    for (std::thread& thread : threads_) thread.join();
}

void Loader::start(std::vector<std::string> paths, AnalyzeOptions options, AnalysisPtr keep) {
    if (job_) job_->progress.cancel();
    options.calibrations = calibrationFolder();
    const auto job = std::make_shared<Job>();
    job_ = job;
    threads_.emplace_back([this, job, paths = std::move(paths), options = std::move(options), keep = std::move(keep)] {
        try { // an exception that leaves the thread would end the program
            job->result = analyzeFiles(paths, options, job->progress, keep, &job->unusable);
        } catch (const std::exception& error) {
            job->unusable.clear();
            job->result = Error{ErrorCode::Internal, "the analysis to finish", error.what(), ""};
        }
        // Queued to the GUI thread; this object outlives the thread because its destructor joins.
        QMetaObject::invokeMethod(
            this, [this, job] { done(job); }, Qt::QueuedConnection);
    });
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
    if (!job_ && threads_.size() > 1) { // every earlier thread has been told to stop long ago
        for (std::thread& thread : threads_) thread.join();
        threads_.clear();
    }
}

} // namespace fusescope
