// SPDX-License-Identifier: GPL-3.0-or-later
// Turns a view of a model graph into a laid out picture without holding up the window: the visible graph is computed in
// a thread, the layout in the process fusescope-layout, and where that is absent, slow or dead, by the own layout in a
// thread.
#pragma once

#include "core/graph/layout.h"

#include <QObject>
#include <QString>
#include <QThreadPool>
#include <QTimer>

#include <deque>
#include <memory>
#include <string>

class QProcess;

namespace fusescope {

struct GraphPicture {
    GraphPtr graph;
    GraphViewState state;
    VisibleGraph visible;
    LayoutResult layout;
};
using GraphPicturePtr = std::shared_ptr<const GraphPicture>;

class GraphLayouter : public QObject {
    Q_OBJECT
public:
    explicit GraphLayouter(QObject* parent = nullptr);
    ~GraphLayouter() override;

    void start(GraphPtr graph, GraphViewState state); // a run that is under way is dropped
    void stop();
    [[nodiscard]] bool running() const { return running_; }
    void setProgram(const QString& path) { program_ = path; } // default: fusescope-layout beside this program

Q_SIGNALS:
    void finished(fusescope::GraphPicturePtr picture);

private:
    struct Job { // what the thread prepared
        GraphPtr graph;
        GraphViewState state;
        VisibleGraph visible;
        LayoutRequest request;
        std::string hash, line;
    };
    using JobPtr = std::shared_ptr<Job>;

    void prepared(quint64 generation, const JobPtr& job);
    void runProcess(const JobPtr& job);
    void processEnded(bool well);
    void layHere(const JobPtr& job);
    void done(const JobPtr& job, LayoutResult layout);
    void dropProcess();

    QThreadPool pool_;
    QTimer deadline_;
    QProcess* process_ = nullptr;
    JobPtr job_; // of the process
    QString program_;
    quint64 generation_ = 0;
    bool running_ = false;
    std::deque<std::pair<std::string, LayoutResult>> cache_; // the latest at the front
};

} // namespace fusescope
