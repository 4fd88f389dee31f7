// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_layouter.h"

#include "core/draw/graph_draw.h"
#include "core/ipc/layout_protocol.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QProcess>

#include <algorithm>
#include <string_view>
#include <utility>

namespace fusescope {
namespace {
constexpr std::size_t kCachedLayouts = 32;
constexpr qint64 kLongestReply = 64 << 20;
} // namespace

GraphLayouter::GraphLayouter(QObject* parent) : QObject(parent) {
    pool_.setMaxThreadCount(1); // runs in order; older ones are short and their results are dropped
    program_ = QCoreApplication::applicationDirPath() + QStringLiteral("/fusescope-layout");
    deadline_.setSingleShot(true);
    deadline_.setInterval(kLayoutTimeoutMs);
    connect(&deadline_, &QTimer::timeout, this, [this] { processEnded(false); });
}

GraphLayouter::~GraphLayouter() {
    stop();
    pool_.clear();
    pool_.waitForDone(); // its threads post to this object
}

void GraphLayouter::stop() {
    ++generation_;
    running_ = false;
    dropProcess();
}

void GraphLayouter::start(GraphPtr graph, GraphViewState state) {
    stop();
    if (!graph) return;
    running_ = true;
    pool_.clear();
    pool_.start([this, generation = generation_, graph = std::move(graph), state = std::move(state)] {
        auto job = std::make_shared<Job>();
        job->visible = visibleGraph(*graph, state);
        job->graph = graph;
        job->state = state;
        job->request = drawnLayoutRequest(job->visible);
        job->hash = hashOf(job->request);
        job->line = encodeLayoutRequest(job->request) + '\n';
        QMetaObject::invokeMethod(
            this, [this, generation, job] { prepared(generation, job); }, Qt::QueuedConnection);
    });
}

void GraphLayouter::prepared(quint64 generation, const JobPtr& job) {
    if (generation != generation_) return;
    const auto found =
        std::find_if(cache_.begin(), cache_.end(), [&](const auto& entry) { return entry.first == job->hash; });
    if (found != cache_.end()) return done(job, found->second);
    if (QFileInfo(program_).isExecutable())
        runProcess(job);
    else
        layHere(job);
}

void GraphLayouter::runProcess(const JobPtr& job) {
    job_ = job;
    process_ = new QProcess(this);
    process_->setProcessChannelMode(QProcess::SeparateChannels);
    connect(process_, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
        processEnded(status == QProcess::NormalExit && code == 0);
    });
    connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) processEnded(false);
    });
    connect(process_, &QProcess::readyReadStandardError, process_,
            [process = process_] { process->readAllStandardError(); });
    process_->setProgram(program_);
    process_->start();
    if (!process_) return; // it could not be started, and the own layout is under way
    process_->write(job->line.data(), static_cast<qint64>(job->line.size()));
    process_->closeWriteChannel();
    deadline_.start();
}

void GraphLayouter::processEnded(bool well) {
    if (!process_) return;
    const JobPtr job = job_;
    const QByteArray reply = well ? process_->read(kLongestReply) : QByteArray();
    dropProcess();
    if (well) {
        std::string_view line(reply.constData(), static_cast<std::size_t>(reply.size()));
        line = line.substr(0, line.find('\n'));
        Result<LayoutResult> layout = decodeLayoutResult(line, job->request);
        if (layout) return done(job, std::move(*layout));
    }
    layHere(job);
}

void GraphLayouter::dropProcess() {
    deadline_.stop();
    job_.reset();
    if (!process_) return;
    QProcess* process = std::exchange(process_, nullptr);
    process->disconnect();
    if (process->state() == QProcess::NotRunning) return process->deleteLater();
    // Its end is not waited for: it goes by itself once the kill has arrived.
    connect(process, &QProcess::finished, process, &QObject::deleteLater);
    process->kill();
}

void GraphLayouter::layHere(const JobPtr& job) {
    pool_.start([this, generation = generation_, job] {
        auto layout = std::make_shared<LayoutResult>(layeredLayout(job->request));
        QMetaObject::invokeMethod(
            this,
            [this, generation, job, layout] {
                if (generation == generation_) done(job, std::move(*layout));
            },
            Qt::QueuedConnection);
    });
}

void GraphLayouter::done(const JobPtr& job, LayoutResult layout) {
    std::erase_if(cache_, [&](const auto& entry) { return entry.first == job->hash; });
    cache_.emplace_front(job->hash, layout);
    if (cache_.size() > kCachedLayouts) cache_.pop_back();
    auto picture = std::make_shared<GraphPicture>();
    picture->graph = std::move(job->graph);
    picture->state = std::move(job->state);
    picture->visible = std::move(job->visible);
    picture->layout = std::move(layout);
    running_ = false;
    Q_EMIT finished(picture);
}

} // namespace fusescope
