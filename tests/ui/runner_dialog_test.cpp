// SPDX-License-Identifier: GPL-3.0-or-later
// The dialog that names a runner, and a runner that answers another question than was asked.
#include "app/runner_child.h"
#include "app/runner_dialog.h"

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

namespace fusescope {
namespace {

QString scripted(const char* mode, int ms = 20) {
    return QStringLiteral("\"%1\" %2 %3").arg(QStringLiteral(FUSESCOPE_SCRIPTED_RUNNER), QLatin1String(mode)).arg(ms);
}
constexpr int kWaitMs = 20'000;

} // namespace

class RunnerDialogTest : public QObject {
    Q_OBJECT

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

private Q_SLOTS:
    void triesWhatIsWritten() {
        RunnerDialog dialog(scripted("good"));
        dialog.show();
        tryIt(dialog)->click();
        QTRY_VERIFY_WITH_TIMEOUT(words(dialog).contains(QLatin1String("PyTorch 2.11")), kWaitMs);
        QVERIFY(tryIt(dialog)->isEnabled());
    }

    void anAnswerIsNotOfACommandWrittenLater() {
        RunnerDialog dialog(scripted("good"));
        dialog.show();
        auto* runner = dialog.findChild<RunnerChild*>();
        QSignalSpy answered(runner, &RunnerChild::answered), failed(runner, &FuseRunner::failed);
        tryIt(dialog)->click();
        dialog.findChild<QLineEdit*>()->setText(QStringLiteral("ssh another-box fusescope-runner"));
        QTRY_VERIFY_WITH_TIMEOUT(answered.count() + failed.count() > 0, kWaitMs);
        QVERIFY2(!words(dialog).contains(QLatin1String("PyTorch 2.11")), qPrintable(words(dialog)));
        QVERIFY(tryIt(dialog)->isEnabled());
    }

    void aCommandThatCannotBeReadIsSaidSo() {
        RunnerDialog dialog(QStringLiteral("ssh 'gpu-box fusescope-runner"));
        dialog.show();
        QVERIFY(!tryIt(dialog)->isEnabled());
        QVERIFY2(words(dialog).contains(QLatin1String("expected a closing '")), qPrintable(words(dialog)));
    }

    // Whoever waits for a measurement is told that none will come.
    void anotherAnswerThanAskedForEndsTheRequest() {
        for (const char* mode : {"device", "calibration"}) {
            RunnerChild runner;
            runner.setCommand(scripted(mode));
            QSignalSpy failed(&runner, &FuseRunner::failed), answered(&runner, &RunnerChild::answered),
                calibrated(&runner, &RunnerChild::calibrated);
            Region region;
            region.id = region.pattern = "rms_norm";
            RegionInput x;
            x.name = "x";
            x.meta.dtype = DType::BFloat16;
            x.meta.sizes = {64, 64};
            region.inputs.push_back(x);
            RegionStep step;
            step.op = "aten::neg";
            step.args.push_back({"self", false, RegionRef{-1, 0}});
            region.baseline.steps.push_back(step);
            region.baseline.outputs.push_back({0, 0});
            const qint64 id = runner.measure(region);
            QTRY_COMPARE_WITH_TIMEOUT(failed.count() + answered.count() + calibrated.count(), 1, kWaitMs);
            QCOMPARE(failed.count(), 1);
            QCOMPARE(failed.front().front().toLongLong(), id);
            QCOMPARE(failed.front().back().value<RunnerError>().code, std::string(runner_error::kGarbled));
        }
    }
};

} // namespace fusescope

QTEST_MAIN(fusescope::RunnerDialogTest)
#include "runner_dialog_test.moc"
