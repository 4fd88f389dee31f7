// SPDX-License-Identifier: GPL-3.0-or-later
// Opens and analyses files in a worker thread. One run at a time: a new one cancels the old, whose result is thrown
// away. A run that does not stop when it is told to (a file system that hangs) is waited for only at the end, and then
// not for long.
#pragma once

#include "app/loose_threads.h"
#include "core/analysis/analysis.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace fusescope {

class Loader : public QObject {
    Q_OBJECT
public:
    // analyzeFiles(), or what a test puts in its place.
    using Analyse =
        std::function<Result<AnalysisPtr>(const std::vector<std::string>& paths, const AnalyzeOptions& options,
                                          Progress& progress, const AnalysisPtr& keep, std::vector<Error>* unusable)>;
    explicit Loader(QObject* parent = nullptr, Analyse analyse = analyzeFiles);
    ~Loader() override; // cancels, and waits at most some seconds

    // Calibrations of this user are used. keep: what stays open when the paths do not replace it; may be null.
    void start(std::vector<std::string> paths, AnalyzeOptions options, AnalysisPtr keep);
    void cancel();
    [[nodiscard]] bool running() const { return job_ != nullptr; }

Q_SIGNALS:
    void started();
    void progressed(const QString& stage, double fraction); // fraction < 0: unknown
    void finished(const fusescope::AnalysisPtr& analysis);
    void failed(const QString& sentence);
    void stopped(); // after finished, failed or a cancellation

private:
    struct Job;
    void done(const std::shared_ptr<Job>& job);

    Analyse analyse_;
    std::shared_ptr<Job> job_; // the current one
    QTimer poll_;
    LooseThreads threads_;
};

} // namespace fusescope
