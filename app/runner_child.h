// SPDX-License-Identifier: GPL-3.0-or-later
// fusescope-runner as a child of the window. It starts with the first request and stays; one request is on its way at a
// time. Nothing here blocks: whatever goes wrong with the process is an answer to the request, and the next request
// starts another one.
#pragma once

#include "core/ipc/runner_talk.h"
#include "ui/fuse/fuse_runner.h"

#include <QByteArray>
#include <QProcess>
#include <QString>
#include <QStringList>
#include <QTimer>

#include <deque>
#include <memory>
#include <optional>
#include <string>

namespace fusescope {

class RunnerChild : public FuseRunner {
    Q_OBJECT
public:
    struct Limits { // ms
        int hello = 60'000;
        int answer = 90'000; // without a line, while a request runs; more where a region may take more than usual
        int cancel = 10'000; // then it is ended
        qint64 flood = qint64{16} << 20; // bytes for one request
    };
    explicit RunnerChild(QObject* parent = nullptr);
    ~RunnerChild() override;

    // "" finds one, as findRunner() does.
    void setCommand(const QString& command);
    void setLimits(const Limits& limits) { limits_ = limits; }
    void setEffort(const FuseEffort& effort) { effort_ = effort; } // of every region from now on
    [[nodiscard]] const FuseEffort& effort() const { return effort_; }
    // Program and arguments of a setting; empty: none was found.
    [[nodiscard]] static QStringList commandOf(const QString& setting);
    [[nodiscard]] static QString problemOf(const QString& setting); // why none was found; "" when one was

    qint64 measure(const Region& region) override;
    qint64 askDevice(); // starts it; hello() is then known, or failed() says why not
    qint64 calibrate(); // calibrated() or failed()
    void cancel(qint64 id) override;
    [[nodiscard]] bool available() const override { return !command_.isEmpty(); }
    [[nodiscard]] QString commandText() const override;
    [[nodiscard]] const RunnerHello* hello() const override { return hello_ ? &*hello_ : nullptr; }
    [[nodiscard]] QString lastWords() const; // of stderr
    [[nodiscard]] qint64 processId() const;  // 0: none runs

Q_SIGNALS:
    void answered(qint64 id); // askDevice()
    void calibrated(qint64 id, const fusescope::CalibrateResult& result);

private:
    enum class State { Off, Greeting, Ready };
    enum class Asked { Device, Calibration, Measurement };
    struct Request {
        qint64 id = 0;
        Asked asked = Asked::Measurement;
        std::string line;
        int answer_ms = 0; // without a line
    };

    qint64 enqueue(Asked asked, RunnerCall call);
    void work();
    void start();
    void readOut();
    void takeLine(const QByteArray& line);
    void takeHello(RunnerHello hello);
    void takeAnswer(const RunnerAnswer& answer);
    void onFinished(int status, QProcess::ExitStatus how);
    void finish(); // the current request is answered
    // Ends the process and answers the current request, or all when none could be served.
    void drop(const char* code, const QString& message, bool all = false);
    void answerFailed(qint64 id, const char* code, const QString& message);
    void forgetProcess();

    Limits limits_;
    FuseEffort effort_;
    QStringList command_;
    State state_ = State::Off;
    QProcess* process_ = nullptr;
    QByteArray out_, err_;
    qint64 received_ = 0; // bytes since the request was sent
    std::optional<RunnerHello> hello_;
    std::deque<Request> queue_; // the first one is on its way when sent_
    bool sent_ = false, cancelling_ = false;
    RunnerTalk talk_;
    QTimer clock_; // of hello, the answer or the cancellation
};

} // namespace fusescope
