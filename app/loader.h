// SPDX-License-Identifier: GPL-3.0-or-later
// Opens and analyses files in a worker thread. One run at a time: a new one cancels the old, whose result is thrown
// away.
#pragma once

#include "core/analysis/analysis.h"

#include <QObject>
#include <QString>
#include <QTimer>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace fusescope {

class Loader : public QObject {
    Q_OBJECT
public:
    explicit Loader(QObject* parent = nullptr);
    ~Loader() override; // cancels and waits

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

    std::shared_ptr<Job> job_;         // the current one
    std::vector<std::thread> threads_; // joined at the end; at most the current and cancelled ones
    QTimer poll_;
};

} // namespace fusescope
