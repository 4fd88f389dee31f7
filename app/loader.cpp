// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/loader.h"

#include "core/cost/calibration.h"
#include "ui/base/paint.h"

#include <exception>
#include <optional>
#include <utility>

namespace fusescope {

struct Loader::Job {
    Progress progress;
    std::optional<Result<AnalysisPtr>> result;
    std::vector<Error> unusable; // of every file, when none could be used
};

Loader::Loader(QObject* parent, Analyse analyse) : QObject(parent), analyse_(std::move(analyse)), threads_(this) {
    constexpr int kPollMs = 50;
    poll_.setInterval(kPollMs);
    connect(&poll_, &QTimer::timeout, this, [this] {
        if (job_) Q_EMIT progressed(QString::fromUtf8(job_->progress.stage()), job_->progress.fraction());
    });
}

Loader::~Loader() {
    if (job_) job_->progress.cancel();
}

void Loader::start(std::vector<std::string> paths, AnalyzeOptions options, AnalysisPtr keep) {
    if (job_) job_->progress.cancel();
    options.calibrations = calibrationFolder();
    const auto job = std::make_shared<Job>();
    job_ = job;
    // Nothing of this object but what is told: the thread may outlive it.
    threads_.start([this, job, analyse = analyse_, paths = std::move(paths), options = std::move(options),
                    keep = std::move(keep)](const Progress&) -> LooseThreads::Tell {
        try { // an exception that leaves the thread would end the program
            job->result = analyse(paths, options, job->progress, keep, &job->unusable);
        } catch (const std::exception& error) {
            job->unusable.clear();
            job->result = Error{ErrorCode::Internal, "the analysis to finish", error.what(), ""};
        }
        return [this, job] { done(job); };
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
}

} // namespace fusescope
