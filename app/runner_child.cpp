// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/runner_child.h"

#include "core/ipc/command_line.h"
#include "ui/base/paint.h"

#include <QFile>

#include <algorithm>
#include <utility>

namespace fusescope {
namespace {

constexpr qsizetype kMostWords = 16'384; // kept of stderr
constexpr int kEndMs = 1000;             // a process that is ended at the program's end gets so long

// What is sent to be answered is far below a line's limit; a longer one is no answer.
constexpr auto kMostLine = static_cast<qsizetype>(kMaxRunnerLine);

Result<RunnerCommand> runnerOf(const QString& setting) {
    return findRunner(QFile::encodeName(setting.trimmed()).toStdString());
}

} // namespace

RunnerChild::RunnerChild(QObject* parent) : FuseRunner(parent), command_(commandOf({})) {
    clock_.setSingleShot(true);
    connect(&clock_, &QTimer::timeout, this, [this] {
        if (state_ == State::Greeting)
            drop(runner_error::kHung, tr("It said nothing for %1 s after its start.").arg(limits_.hello / 1000));
        else if (cancelling_)
            drop(runner_error::kCancelled, tr("It did not stop when asked to, and was ended."));
        else
            drop(runner_error::kHung, tr("It said nothing for %1 s.").arg(clock_.interval() / 1000));
    });
}

RunnerChild::~RunnerChild() {
    if (process_ != nullptr) process_->closeWriteChannel();
    const QList<QProcess*> all = findChildren<QProcess*>(); // also those that were given up a moment ago
    for (QProcess* one : all) {
        one->disconnect();
        one->kill();
    }
    for (QProcess* one : all)
        if (one->state() != QProcess::NotRunning) one->waitForFinished(kEndMs);
}

QStringList RunnerChild::commandOf(const QString& setting) {
    const Result<RunnerCommand> found = runnerOf(setting);
    QStringList words;
    if (found)
        for (const std::string& word : found->words) words << QFile::decodeName(word.c_str());
    return words;
}

QString RunnerChild::problemOf(const QString& setting) {
    const Result<RunnerCommand> found = runnerOf(setting);
    return found ? QString() : text(found.error().message());
}

void RunnerChild::setCommand(const QString& command) {
    const QStringList parts = commandOf(command);
    if (parts == command_) return;
    command_ = parts;
    hello_.reset();
    drop(runner_error::kCancelled, tr("Another runner was chosen."), true);
    Q_EMIT changed();
}

QString RunnerChild::commandText() const { return command_.join(QLatin1Char(' ')); }
QString RunnerChild::lastWords() const { return QString::fromUtf8(err_).trimmed(); }
qint64 RunnerChild::processId() const { return process_ != nullptr ? process_->processId() : 0; }

qint64 RunnerChild::measure(const Region& region) {
    FuseRequest request;
    request.region = region;
    request.effort = effort_;
    return enqueue(Asked::Measurement, std::move(request));
}
qint64 RunnerChild::askDevice() { return enqueue(Asked::Device, DeviceRequest{}); }
qint64 RunnerChild::calibrate() { return enqueue(Asked::Calibration, CalibrateRequest{}); }

qint64 RunnerChild::enqueue(Asked asked, RunnerCall call) {
    const qint64 id = talk_.newId();
    const auto fail = [this, id](const char* code, const QString& message) {
        QTimer::singleShot(0, this, [this, id, code, message] { answerFailed(id, code, message); });
    };
    if (command_.isEmpty()) {
        fail(runner_error::kNone, {});
        return id;
    }
    int answer_ms = limits_.answer;
    if (const auto* fuse = std::get_if<FuseRequest>(&call)) // an operator that is slow says nothing meanwhile
        answer_ms += static_cast<int>(1000 * std::max(0.0, fuse->effort.time_limit_s - FuseEffort{}.time_limit_s));
    Result<std::string> line = encodeRequest({id, std::move(call)});
    if (!line) {
        fail("unsupported", text(line.error().message()));
        return id;
    }
    queue_.push_back({id, asked, std::move(*line), answer_ms});
    QTimer::singleShot(0, this, &RunnerChild::work);
    return id;
}

void RunnerChild::work() {
    if (queue_.empty() || sent_) return;
    if (state_ == State::Off) start();
    if (state_ != State::Ready) return;
    sent_ = true;
    talk_.expect(queue_.front().id);
    received_ = 0;
    const std::string& line = queue_.front().line;
    process_->write(line.data(), static_cast<qint64>(line.size()));
    clock_.start(queue_.front().answer_ms);
}

void RunnerChild::start() {
    out_.clear();
    err_.clear();
    received_ = 0;
    talk_.startAnew();
    state_ = State::Greeting;
    process_ = new QProcess(this);
    process_->setProcessChannelMode(QProcess::SeparateChannels);
    connect(process_, &QProcess::readyReadStandardOutput, this, &RunnerChild::readOut);
    connect(process_, &QProcess::readyReadStandardError, this, [this] {
        err_ += process_->readAllStandardError();
        if (err_.size() > kMostWords) err_.remove(0, err_.size() - kMostWords);
    });
    connect(process_, &QProcess::finished, this, &RunnerChild::onFinished);
    connect(process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart)
            drop(runner_error::kNone, tr("%1: %2.").arg(commandText(), process_->errorString()), true);
    });
    clock_.start(limits_.hello);
    // An answer to a request must not come during the call that made it; work() is called from the event loop.
    process_->start(command_.front(), command_.mid(1));
}

void RunnerChild::readOut() {
    const QByteArray more = process_->readAllStandardOutput();
    received_ += more.size();
    out_ += more;
    qsizetype from = 0;
    const QProcess* const now = process_;
    for (qsizetype end = out_.indexOf('\n', from); end >= 0; end = out_.indexOf('\n', from)) {
        const QByteArray line = out_.mid(from, end - from);
        from = end + 1;
        takeLine(line);
        if (process_ != now) return; // it was dropped, and what it said with it
    }
    out_.remove(0, from);
    if (out_.size() > kMostLine)
        drop(runner_error::kFlood, tr("It wrote a line of more than %1 bytes.").arg(kMostLine));
    else if (received_ > limits_.flood && (sent_ || state_ == State::Greeting))
        drop(runner_error::kFlood, tr("It wrote more than %1 bytes for one request.").arg(limits_.flood));
}

void RunnerChild::takeLine(const QByteArray& line) {
    RunnerTalk::Event event = talk_.take({line.constData(), static_cast<std::size_t>(line.size())});
    if (auto* hello = std::get_if<RunnerHello>(&event)) {
        takeHello(std::move(*hello));
    } else if (const auto* answer = std::get_if<RunnerAnswer>(&event)) {
        takeAnswer(*answer);
    } else if (const auto* error = std::get_if<Error>(&event)) {
        const bool version = error->code == ErrorCode::Unsupported;
        // Another one that the same command starts would greet alike.
        drop(version ? runner_error::kVersion : runner_error::kGarbled, text(error->message()),
             state_ == State::Greeting);
    }
}

void RunnerChild::takeHello(RunnerHello hello) {
    hello_ = std::move(hello);
    state_ = State::Ready;
    clock_.stop();
    Q_EMIT changed();
    work();
}

void RunnerChild::takeAnswer(const RunnerAnswer& answer) {
    if (!sent_) return; // what it says of itself
    const bool current = answer.id == queue_.front().id;
    if (const auto* error = std::get_if<RunnerError>(&answer.event)) {
        // One of no request is about a line that it could not read: the one on its way.
        if (!current && answer.id != 0) return;
        const qint64 id = queue_.front().id;
        const RunnerError told = *error;
        if (told.fatal) forgetProcess(); // it ends by itself; another one is started
        finish();
        Q_EMIT failed(id, told);
        return;
    }
    if (!current) return;
    if (!cancelling_) clock_.start(queue_.front().answer_ms);
    const qint64 id = answer.id;
    if (const auto* progress = std::get_if<RunnerProgress>(&answer.event)) {
        Q_EMIT progressed(id, text(progress->stage), progress->fraction);
    } else if (const auto* result = std::get_if<RunnerResult>(&answer.event)) {
        // Another signal than the one that is waited for would leave whoever waits without an answer.
        const Asked asked = queue_.front().asked;
        if (const auto* fuse = std::get_if<FuseResult>(result); fuse != nullptr && asked == Asked::Measurement) {
            const FuseResult taken = *fuse;
            finish();
            Q_EMIT measured(id, taken);
        } else if (const auto* calibration = std::get_if<CalibrateResult>(result);
                   calibration != nullptr && asked == Asked::Calibration) {
            const CalibrateResult taken = *calibration;
            finish();
            Q_EMIT calibrated(id, taken);
        } else if (const auto* hello = std::get_if<RunnerHello>(result); hello != nullptr && asked == Asked::Device) {
            hello_ = *hello;
            finish();
            Q_EMIT changed();
            Q_EMIT answered(id);
        } else {
            drop(runner_error::kGarbled, tr("It answered another question than was asked."));
        }
    }
}

void RunnerChild::finish() {
    clock_.stop();
    sent_ = cancelling_ = false;
    if (!queue_.empty()) queue_.pop_front();
    QTimer::singleShot(0, this, &RunnerChild::work);
}

void RunnerChild::onFinished(int status, QProcess::ExitStatus how) {
    if (process_ == nullptr) return;
    const QProcess* const now = process_;
    readOut(); // its last answer
    if (process_ != now) return;
    err_ += process_->readAllStandardError();
    QString message = how == QProcess::CrashExit ? tr("It was ended by a signal.")
                      : status == kExitCudaError ? tr("It ended after a CUDA error.")
                                                 : tr("It ended with status %1.").arg(status);
    const QString words = lastWords().section(QLatin1Char('\n'), -1);
    constexpr int kShown = 300;
    if (!words.isEmpty()) message += QLatin1Char(' ') + tr("Its last words: %1").arg(words.left(kShown));
    const bool greeting = state_ == State::Greeting;
    drop(cancelling_ ? runner_error::kCancelled : runner_error::kCrashed, message, greeting);
}

void RunnerChild::forgetProcess() {
    clock_.stop();
    state_ = State::Off;
    out_.clear();
    if (process_ == nullptr) return;
    process_->disconnect(this);
    process_->closeWriteChannel();
    // It may be at its own end: a moment later it is ended in any case.
    QProcess* old = std::exchange(process_, nullptr);
    connect(old, &QProcess::finished, old, &QObject::deleteLater);
    connect(old, &QProcess::errorOccurred, old, &QObject::deleteLater);
    if (old->state() == QProcess::NotRunning)
        old->deleteLater();
    else
        QTimer::singleShot(kEndMs, old, &QProcess::kill);
}

void RunnerChild::drop(const char* code, const QString& message, bool all) {
    if (process_ != nullptr) {
        QProcess* const gone = process_;
        forgetProcess();
        if (gone->state() != QProcess::NotRunning) gone->kill();
    }
    state_ = State::Off;
    // Without a start nobody is served; else only who was.
    std::deque<Request> answered;
    if (all || !sent_) {
        answered.swap(queue_);
    } else {
        answered.push_back(std::move(queue_.front()));
        queue_.pop_front();
    }
    const bool idle = !sent_ && !all;
    sent_ = cancelling_ = false;
    if (idle && code == std::string_view(runner_error::kCrashed) && answered.empty()) return; // nobody waited for it
    for (const Request& request : answered) answerFailed(request.id, code, message);
    if (!queue_.empty()) QTimer::singleShot(0, this, &RunnerChild::work);
}

void RunnerChild::answerFailed(qint64 id, const char* code, const QString& message) {
    RunnerError error;
    error.code = code;
    error.message = message.toStdString();
    Q_EMIT failed(id, error);
}

void RunnerChild::cancel(qint64 id) {
    const auto at = std::find_if(queue_.begin(), queue_.end(), [id](const Request& r) { return r.id == id; });
    if (at == queue_.end()) return;
    if (at != queue_.begin() || !sent_) {
        queue_.erase(at);
        QTimer::singleShot(0, this, [this, id] { answerFailed(id, runner_error::kCancelled, {}); });
        return;
    }
    if (cancelling_) return;
    cancelling_ = true;
    if (const Result<std::string> line = encodeRequest({talk_.newId(), CancelRequest{id}}))
        process_->write(line->data(), static_cast<qint64>(line->size()));
    clock_.start(limits_.cancel);
}

} // namespace fusescope
