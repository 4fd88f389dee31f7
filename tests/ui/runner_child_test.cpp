// SPDX-License-Identifier: GPL-3.0-or-later
// The window's side of the runner's protocol, against a runner that keeps it or breaks it.
#include "app/runner_child.h"
#include "tests/support/small_region.h"

#include <QElapsedTimer>
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <csignal>
#include <map>
#include <vector>

namespace fusescope {
namespace {

Region region() {
    Region r = test::smallRegion();
    r.title = "RMSNorm";
    r.fused = r.baseline;
    r.backward = true;
    return r;
}

QString fake(const char* way) {
    return QStringLiteral("\"%1\" %2").arg(QStringLiteral(FUSESCOPE_FAKE_RUNNER), QLatin1String(way));
}

// Collects answers by request.
class Listener : public QObject {
public:
    explicit Listener(RunnerChild* runner) {
        connect(runner, &FuseRunner::measured, this, [this](qint64 id, const FuseResult& r) { results[id] = r; });
        connect(runner, &FuseRunner::failed, this, [this](qint64 id, const RunnerError& e) {
            ++answers[id];
            errors[id] = e;
        });
        connect(runner, &FuseRunner::measured, this, [this](qint64 id) { ++answers[id]; });
        connect(runner, &FuseRunner::progressed, this, [this] { ++progress; });
    }
    [[nodiscard]] bool has(qint64 id) const { return answers.count(id) != 0; }
    std::map<qint64, FuseResult> results;
    std::map<qint64, RunnerError> errors;
    std::map<qint64, int> answers;
    int progress = 0;
};

constexpr int kWaitMs = 20'000;

} // namespace

class RunnerChildTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        runner_ = std::make_unique<RunnerChild>();
        runner_->setLimits({1500, 1500, 300, 1 << 20});
        heard_ = std::make_unique<Listener>(runner_.get());
    }
    void cleanup() {
        runner_.reset();
        heard_.reset();
    }

    void startsWithTheFirstRequestAndStays() {
        runner_->setCommand(fake("good"));
        QCOMPARE(runner_->processId(), qint64{0});
        QVERIFY(runner_->hello() == nullptr);
        const qint64 first = ask();
        QVERIFY(!heard_->has(first)); // never during the call
        QVERIFY(wait(first));
        QCOMPARE(heard_->results[first].device, std::string("NVIDIA H200"));
        QCOMPARE(heard_->results[first].directions.size(), std::size_t{2});
        QVERIFY(heard_->progress > 0);
        QVERIFY(runner_->hello() != nullptr);
        const qint64 process = runner_->processId();
        QVERIFY(process != 0);
        const qint64 second = ask(), third = ask();
        QVERIFY(wait(second) && wait(third));
        QCOMPARE(runner_->processId(), process);
    }

    void aRunnerThatDiedAtRestIsReplaced() {
        runner_->setCommand(fake("good"));
        QVERIFY(wait(ask()));
        const qint64 before = runner_->processId();
        QCOMPARE(::kill(static_cast<pid_t>(before), SIGKILL), 0);
        const qint64 second = ask(); // the death is not known yet
        QVERIFY(wait(second));
        QCOMPARE(heard_->results.count(second), std::size_t{1});
        QVERIFY(runner_->processId() != before);
        // Known before the request.
        QCOMPARE(::kill(static_cast<pid_t>(runner_->processId()), SIGKILL), 0);
        QTRY_COMPARE(runner_->processId(), qint64{0});
        const qint64 third = ask();
        QVERIFY(wait(third));
        QCOMPARE(heard_->results.count(third), std::size_t{1});
    }

    // As ssh whose connection is gone: it ends when it is written to.
    void aRunnerThatEndsWhenWrittenToIsReplacedOnce() {
        runner_->setCommand(fake("gone 2"));
        QVERIFY(wait(ask()));
        const qint64 before = runner_->processId(), second = ask();
        QVERIFY(wait(second));
        QCOMPARE(heard_->results.count(second), std::size_t{1});
        QVERIFY(runner_->processId() != before);
        QCOMPARE(heard_->answers[second], 1);
        // A new one that ends in the same way has not rested: that is the answer.
        runner_->setCommand(fake("gone"));
        const qint64 third = ask();
        QVERIFY(wait(third));
        QCOMPARE(heard_->errors[third].code, std::string("crashed"));
    }

    void whatWasBegunIsNotBegunAgain() {
        runner_->setCommand(fake("crash 2"));
        QVERIFY(wait(ask()));
        const qint64 second = ask();
        QVERIFY(wait(second));
        QCOMPARE(heard_->errors[second].code, std::string("crashed"));
    }

    void everythingThatGoesWrongIsAnAnswer_data() {
        QTest::addColumn<QString>("mode");
        QTest::addColumn<QString>("code");
        const std::pair<const char*, const char*> rows[] = {{"hang-at-start", "hung"},
                                                            {"new", "version"},
                                                            {"no-hello", "garbled"},
                                                            {"exit", "crashed"},
                                                            {"crash", "crashed"},
                                                            {"hang", "hung"},
                                                            {"chatter", "flood"},
                                                            {"flood", "flood"},
                                                            {"bad-json", "garbled"},
                                                            {"wrong-id", "garbled"},
                                                            {"wrong-kind", "garbled"},
                                                            {"half", "crashed"},
                                                            {"out_of_memory", "out_of_memory"},
                                                            {"cuda", "cuda"}};
        for (const auto& [mode, code] : rows)
            QTest::newRow(mode) << QString::fromLatin1(mode) << QString::fromLatin1(code);
    }
    void everythingThatGoesWrongIsAnAnswer() {
        QFETCH(QString, mode);
        QFETCH(QString, code);
        runner_->setCommand(fake(mode.toLatin1().constData()));
        const qint64 id = ask();
        QVERIFY(wait(id));
        QCOMPARE(QString::fromStdString(heard_->errors[id].code), code);
        QCOMPARE(heard_->answers[id], 1);
        // The next request is answered just as well, and a good runner after it.
        const qint64 again = ask();
        QVERIFY(wait(again));
        QCOMPARE(QString::fromStdString(heard_->errors[again].code), code);
        runner_->setCommand(fake("good"));
        const qint64 good = ask();
        QVERIFY(wait(good));
        QVERIFY(heard_->results.count(good) == 1);
        QTest::qWait(20);
        QCOMPARE(heard_->answers.size(), std::size_t{3});
    }

    void aCrashTellsItsLastWords() {
        runner_->setCommand(fake("stderr"));
        const qint64 id = ask();
        QVERIFY(wait(id));
        const std::string message = heard_->errors[id].message;
        QVERIFY2(message.find("ended by a signal") != std::string::npos, message.c_str());
        QVERIFY2(message.find("the last words") != std::string::npos, message.c_str());
        runner_->setCommand(fake("exit"));
        const qint64 other = ask();
        QVERIFY(wait(other));
        QCOMPARE(heard_->errors[other].message, std::string("It ended with status 3."));
    }

    void anErrorOfNoRequestIsOfTheOneOnItsWay() {
        runner_->setCommand(fake("no-id"));
        const qint64 id = ask();
        QVERIFY(wait(id));
        QCOMPARE(heard_->errors[id].message, std::string("the driver is unwell"));
    }

    void aProgramThatIsNotThere() {
        runner_->setCommand(QStringLiteral("/no/such/fusescope-runner --flag"));
        QVERIFY(runner_->available()); // known only when it is started
        const qint64 id = ask(), other = ask();
        QVERIFY(wait(id) && wait(other));
        QCOMPARE(heard_->errors[id].code, std::string("no_runner"));
        QCOMPARE(heard_->errors[other].code, std::string("no_runner"));
    }

    void aLoginBeforeTheGreetingIsSkipped() {
        runner_->setCommand(fake("greeting"));
        const qint64 id = ask();
        QVERIFY(wait(id));
        QVERIFY(heard_->results.count(id) == 1);
    }

    void overASshLikePipe() {
        QTemporaryDir folder;
        const QString ssh = folder.filePath(QStringLiteral("ssh"));
        QFile script(ssh);
        QVERIFY(script.open(QIODevice::WriteOnly));
        script.write("#!/bin/sh\nshift\nexec \"$@\"\n");
        script.close();
        script.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        runner_->setCommand(ssh + QStringLiteral(" gpu-box ") + fake("good"));
        const qint64 id = ask();
        QVERIFY(wait(id));
        QVERIFY(heard_->results.count(id) == 1);
    }

    void cancelEndsTheCurrentAndTheWaiting() {
        runner_->setCommand(fake("slow"));
        const qint64 running = ask(), waiting = ask(), last = ask();
        QVERIFY(QTest::qWaitFor([&] { return heard_->progress > 0; }, kWaitMs));
        runner_->cancel(waiting);
        runner_->cancel(running);
        QVERIFY(wait(running) && wait(waiting) && wait(last));
        QCOMPARE(heard_->errors[running].code, std::string("cancelled"));
        QCOMPARE(heard_->errors[waiting].code, std::string("cancelled"));
        QVERIFY(heard_->results.count(last) == 1);
    }

    void aRunnerThatDoesNotCancelIsEnded() {
        runner_->setLimits({1500, 60'000, 200, 1 << 20});
        runner_->setCommand(fake("hang"));
        const qint64 id = ask();
        QVERIFY(QTest::qWaitFor([&] { return runner_->hello() != nullptr; }, kWaitMs));
        QTest::qWait(50);
        runner_->cancel(id);
        QVERIFY(wait(id));
        QCOMPARE(heard_->errors[id].code, std::string("cancelled"));
        QCOMPARE(runner_->processId(), qint64{0});
    }

    void killedAtRestItStartsAnew() {
        runner_->setCommand(fake("good"));
        QVERIFY(wait(ask()));
        const auto process = static_cast<pid_t>(runner_->processId());
        ::kill(process, SIGKILL);
        QVERIFY(QTest::qWaitFor([&] { return runner_->processId() == 0; }, kWaitMs));
        QVERIFY(heard_->errors.empty());
        const qint64 id = ask();
        QVERIFY(wait(id));
        QVERIFY(heard_->results.count(id) == 1);
        QVERIFY(runner_->processId() != process);
    }

    void noOrphan() {
        runner_->setCommand(fake("hang"));
        ask();
        QVERIFY(QTest::qWaitFor([&] { return runner_->hello() != nullptr; }, kWaitMs));
        const auto process = static_cast<pid_t>(runner_->processId());
        QElapsedTimer clock;
        clock.start();
        runner_.reset();
        QVERIFY(clock.elapsed() < 1000);
        QVERIFY(::kill(process, 0) != 0);
    }

    void twoHundredRequests() {
        runner_->setCommand(fake("good"));
        std::vector<qint64> ids;
        for (int i = 0; i < 200; ++i) ids.push_back(ask());
        for (const qint64 id : ids) QVERIFY(wait(id));
        QCOMPARE(heard_->results.size(), std::size_t{200});
        QCOMPARE(runner_->findChildren<QProcess*>().size(), 1);
    }

    void whereARunnerIsFound() {
        QCOMPARE(RunnerChild::commandOf(QStringLiteral("ssh gpu-box \"my runner\" -v")),
                 (QStringList{QStringLiteral("ssh"), QStringLiteral("gpu-box"), QStringLiteral("my runner"),
                              QStringLiteral("-v")}));
        qputenv("FUSESCOPE_RUNNER", "/opt/runner --here");
        QCOMPARE(RunnerChild::commandOf({}), (QStringList{QStringLiteral("/opt/runner"), QStringLiteral("--here")}));
        qunsetenv("FUSESCOPE_RUNNER");
    }

private:
    qint64 ask() { return runner_->measure(region()); }
    bool wait(qint64 id) {
        return QTest::qWaitFor([&] { return heard_->has(id); }, kWaitMs);
    }
    std::unique_ptr<RunnerChild> runner_;
    std::unique_ptr<Listener> heard_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::RunnerChildTest)
#include "runner_child_test.moc"
