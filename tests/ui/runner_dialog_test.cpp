// SPDX-License-Identifier: GPL-3.0-or-later
// Fuse > Runner: how much is measured, remembered, and what a request asks for.
#include "app/runner_child.h"
#include "app/runner_dialog.h"
#include "app/settings.h"
#include "tests/ui/window_harness.h"
#include "ui/fuse/fuse_words.h"

#include <QAction>
#include <QLabel>
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
        runner.setCommand(QStringLiteral("\"%1\" good").arg(QStringLiteral(FUSESCOPE_FAKE_RUNNER)));
        runner.setEffort({7, 60});
        QSignalSpy measured(&runner, &FuseRunner::measured);
        FuseResult got;
        connect(&runner, &FuseRunner::measured, this, [&](qint64, const FuseResult& result) { got = result; });
        runner.measure(region());
        QVERIFY(!measured.empty() || measured.wait(kLoadMs));
        QCOMPARE(got.directions.at(0).baseline.us.rounds, 7); // the fake runner tells what it was asked for
    }

    // An operator that takes long says nothing meanwhile.
    void aLongerLimitWaitsLonger() {
        RunnerChild runner;
        runner.setLimits({20'000, 500, 300, 1 << 20});
        runner.setCommand(QStringLiteral("\"%1\" silent").arg(QStringLiteral(FUSESCOPE_FAKE_RUNNER)));
        runner.setEffort({20, 61.5}); // 1.5 s more than usual
        QSignalSpy failed(&runner, &FuseRunner::failed);
        std::string why;
        connect(&runner, &FuseRunner::failed, this, [&](qint64, const RunnerError& error) { why = error.message; });
        runner.measure(region());
        QVERIFY(!failed.empty() || failed.wait(kLoadMs));
        QCOMPARE(why, std::string("It said nothing for 2 s."));
    }

    void theAnswerNamesTheSetting() {
        const QString words = errorWords({"time_limit", "expected to end within 60 s", false}).long_text;
        QVERIFY2(words.contains(QLatin1String("expected to end within 60 s")), qPrintable(words));
        QVERIFY2(words.contains(QLatin1String("time limit")) && words.contains(QLatin1String("Fuse > Runner")),
                 qPrintable(words));
    }

private:
    static Region region() {
        Region r;
        r.id = r.pattern = "rms_norm";
        RegionInput x;
        x.name = "x";
        x.meta.dtype = DType::BFloat16;
        x.meta.sizes = {64, 64};
        r.inputs.push_back(x);
        RegionStep step;
        step.op = "aten::neg";
        step.args.push_back({"self", false, RegionRef{-1, 0}});
        r.baseline.steps.push_back(step);
        r.baseline.outputs.push_back({0, 0});
        return r;
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
