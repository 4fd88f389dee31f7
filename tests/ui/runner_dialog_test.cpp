// SPDX-License-Identifier: GPL-3.0-or-later
// Fuse > Runner: the command that is tried, how much is measured, remembered, and what a request asks for; a runner
// that answers another question.
#include "app/runner_child.h"
#include "app/runner_dialog.h"
#include "app/settings.h"
#include "tests/support/small_region.h"
#include "tests/ui/window_harness.h"
#include "ui/fuse/fuse_words.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QSpinBox>

#include <functional>

namespace fusescope {

class RunnerDialogTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareApplication(); }
    void init() { QSettings().clear(); }

    void whatIsSetIsRemembered() {
        inDialogOf(MainWindow(true), [](QSpinBox& rounds, QSpinBox& limit) {
            QCOMPARE(rounds.value(), 20); // as fusescope-cli does
            QCOMPARE(limit.value(), 60);
            QVERIFY(!rounds.toolTip().isEmpty() && !limit.toolTip().isEmpty());
            rounds.setValue(2);
            limit.setValue(600);
        });
        QCOMPARE(settings::fuseEffort().rounds, 2);
        QCOMPARE(settings::fuseEffort().time_limit_s, 600.0);
        inDialogOf(MainWindow(true), [](QSpinBox& rounds, QSpinBox& limit) {
            QCOMPARE(rounds.value(), 2);
            QCOMPARE(limit.value(), 600);
        });
    }

    void nonsenseInTheFileIsTheUsual() {
        for (const char* wrong : {"0", "-3", "nan", "1e9", "many"}) {
            QSettings().setValue(QStringLiteral("measuring/rounds"), QLatin1String(wrong));
            QSettings().setValue(QStringLiteral("measuring/time_limit_s"), QLatin1String(wrong));
            QCOMPARE(settings::fuseEffort().rounds, 20);
            QCOMPARE(settings::fuseEffort().time_limit_s, 60.0);
        }
    }

    void everyRequestAsksForIt() {
        RunnerChild runner;
        runner.setCommand(fake("good"));
        runner.setEffort({7, 60});
        QSignalSpy measured(&runner, &FuseRunner::measured);
        FuseResult got;
        connect(&runner, &FuseRunner::measured, this, [&](qint64, const FuseResult& result) { got = result; });
        runner.measure(test::smallRegion());
        QVERIFY(!measured.empty() || measured.wait(kLoadMs));
        QCOMPARE(got.directions.at(0).baseline.us.rounds, 7); // the fake runner tells what it was asked for
    }

    // An operator that takes long says nothing meanwhile.
    void aLongerLimitWaitsLonger() {
        RunnerChild runner;
        runner.setLimits({20'000, 500, 300, 1 << 20});
        runner.setCommand(fake("silent"));
        runner.setEffort({20, 61.5}); // 1.5 s more than usual
        QSignalSpy failed(&runner, &FuseRunner::failed);
        std::string why;
        connect(&runner, &FuseRunner::failed, this, [&](qint64, const RunnerError& error) { why = error.message; });
        runner.measure(test::smallRegion());
        QVERIFY(!failed.empty() || failed.wait(kLoadMs));
        QCOMPARE(why, std::string("It said nothing for 2 s."));
    }

    void theAnswerNamesTheSetting() {
        const QString words = errorWords({"time_limit", "expected to end within 60 s", false}).long_text;
        QVERIFY2(words.contains(QLatin1String("expected to end within 60 s")), qPrintable(words));
        QVERIFY2(words.contains(QLatin1String("time limit")) && words.contains(QLatin1String("Fuse > Runner")),
                 qPrintable(words));
    }

    void triesWhatIsWritten() {
        RunnerDialog dialog(fake("good"), {});
        dialog.show();
        tryIt(dialog)->click();
        QTRY_VERIFY_WITH_TIMEOUT(words(dialog).contains(QLatin1String("PyTorch 2.11")), kLoadMs);
        QVERIFY(tryIt(dialog)->isEnabled());
    }

    void anAnswerIsNotOfACommandWrittenLater() {
        RunnerDialog dialog(fake("good"), {});
        dialog.show();
        auto* runner = dialog.findChild<RunnerChild*>();
        QSignalSpy answered(runner, &RunnerChild::answered), failed(runner, &FuseRunner::failed);
        tryIt(dialog)->click();
        dialog.findChild<QLineEdit*>()->setText(QStringLiteral("ssh another-box fusescope-runner"));
        QTRY_VERIFY_WITH_TIMEOUT(answered.count() + failed.count() > 0, kLoadMs);
        QVERIFY2(!words(dialog).contains(QLatin1String("PyTorch 2.11")), qPrintable(words(dialog)));
        QVERIFY(tryIt(dialog)->isEnabled());
    }

    void aCommandThatCannotBeReadIsSaidSo() {
        RunnerDialog dialog(QStringLiteral("ssh 'gpu-box fusescope-runner"), {});
        dialog.show();
        QVERIFY(!tryIt(dialog)->isEnabled());
        QVERIFY2(words(dialog).contains(QLatin1String("expected a closing '")), qPrintable(words(dialog)));
    }

    // Whoever waits for a measurement is told that none will come.
    void anotherAnswerThanAskedForEndsTheRequest() {
        for (const char* mode : {"hello-instead", "calibration-instead"}) {
            RunnerChild runner;
            runner.setCommand(fake(mode));
            QSignalSpy failed(&runner, &FuseRunner::failed), answered(&runner, &RunnerChild::answered),
                calibrated(&runner, &RunnerChild::calibrated);
            const qint64 id = runner.measure(test::smallRegion());
            QTRY_COMPARE_WITH_TIMEOUT(failed.count() + answered.count() + calibrated.count(), 1, kLoadMs);
            QCOMPARE(failed.count(), 1);
            QCOMPARE(failed.front().front().toLongLong(), id);
            QCOMPARE(failed.front().back().value<RunnerError>().code, std::string(runner_error::kGarbled));
        }
    }

private:
    static QString fake(const char* way) {
        return QStringLiteral("\"%1\" %2").arg(QStringLiteral(FUSESCOPE_FAKE_RUNNER), QLatin1String(way));
    }
    static QPushButton* tryIt(const RunnerDialog& dialog) {
        for (auto* button : dialog.findChildren<QPushButton*>())
            if (button->text() == QLatin1String("&Try it")) return button;
        return nullptr;
    }
    static QString words(const RunnerDialog& dialog) {
        QStringList all;
        for (const auto* label : dialog.findChildren<QLabel*>())
            if (!label->isHidden()) all << label->text();
        return all.join(QLatin1Char('\n'));
    }
    // Opens the dialog as the menu does, and accepts it.
    void inDialogOf(MainWindow&& window, const std::function<void(QSpinBox&, QSpinBox&)>& then) {
        bool opened = false;
        QTimer visitor;
        connect(&visitor, &QTimer::timeout, this, [&] {
            auto* dialog = qobject_cast<RunnerDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            const QList<QSpinBox*> boxes = dialog->findChildren<QSpinBox*>();
            opened = boxes.size() == 2;
            if (opened) then(*boxes[0], *boxes[1]);
            dialog->accept();
        });
        visitor.start(10);
        window.show();
        for (QAction* action : window.findChildren<QAction*>())
            if (action->text() == QStringLiteral("&Runner…")) action->trigger();
        QVERIFY(opened);
    }
};

} // namespace fusescope

QTEST_MAIN(fusescope::RunnerDialogTest)
#include "runner_dialog_test.moc"
