// SPDX-License-Identifier: GPL-3.0-or-later
// Calibrating in the window, with a runner whose figures are made up: 4.2 TB/s, 740 TFLOP/s, 2.1 µs.
#include "tests/ui/window_harness.h"

#include "app/calibrate_dialog.h"
#include "app/runner_child.h"
#include "core/cost/calibration.h"

#include <QComboBox>
#include <QDirIterator>
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>

#include <memory>

namespace fusescope {

namespace {

QString folder() { return QFile::decodeName(calibrationFolder().c_str()); }
int kept() {
    int files = 0;
    for (QDirIterator all(folder(), QDir::Files); all.hasNext(); all.next()) ++files;
    return files;
}

} // namespace

class CalibrateTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { prepareApplication(); }
    void init() { QDir(folder()).removeRecursively(); }

    void measuresAndKeeps() {
        const QString said = outcomeOf("good");
        for (const char* part : {"NVIDIA H200", "4.20 TB/s ±0.5%", "740 TFLOP/s ±2.0%", "2.10 µs ±5.0%", "Kept in"})
            QVERIFY2(said.contains(QString::fromUtf8(part)), qPrintable(said));
        QCOMPARE(kept(), 1);
        QCOMPARE(kept_for_, QStringLiteral("NVIDIA H200"));
    }

    void withoutAGpuItSaysSo() {
        QVERIFY(outcomeOf("cpu").contains(QLatin1String("no GPU")));
        QCOMPARE(kept(), 0);
    }

    void whatGoesWrongIsSaid() {
        QVERIFY(outcomeOf("crash").contains(QLatin1String("The runner ended")));
        QVERIFY(outcomeOf("unsupported").contains(QLatin1String("made up")));
        QCOMPARE(kept(), 0);
    }

    void itSaysWhatItWaitsFor() {
        RunnerChild runner;
        runner.setCommand(command("slow"));
        QSignalSpy progress(&runner, &FuseRunner::progressed), answered(&runner, &FuseRunner::failed);
        {
            const CalibrateDialog first(&runner);
            QVERIFY2(first.stage().contains(QLatin1String("Starting the runner")), qPrintable(first.stage()));
        }
        const qint64 running = runner.calibrate(); // stands for any measurement
        QTRY_VERIFY_WITH_TIMEOUT(!progress.empty(), kLoadMs);
        CalibrateDialog dialog(&runner);
        QVERIFY2(dialog.stage().contains(QLatin1String("measurement is running")), qPrintable(dialog.stage()));
        runner.cancel(running);
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.stage().contains(QLatin1String("is running")), kLoadMs);
        QVERIFY(dialog.running());
    }

    void closingCancels() {
        RunnerChild runner;
        runner.setCommand(command("slow"));
        QSignalSpy progress(&runner, &FuseRunner::progressed), failures(&runner, &FuseRunner::failed);
        {
            CalibrateDialog dialog(&runner);
            QTRY_VERIFY_WITH_TIMEOUT(!progress.empty(), kLoadMs);
            QVERIFY(dialog.running());
        }
        QTRY_VERIFY_WITH_TIMEOUT(!failures.empty(), kLoadMs);
        QCOMPARE(failures.front().at(1).value<RunnerError>().code, std::string("cancelled"));
        QCOMPARE(kept(), 0);
    }

    // The file's own figures: a copy at 4.2 TB/s where the preset of the sample's H200 has another.
    void theOpenTraceIsAnalysedWithIt() {
        MainWindow window(false);
        QVERIFY(openAndSettle(window, {sampleTrace()}));
        const auto* device = window.findChild<QComboBox*>(QStringLiteral("device"));
        QVERIFY(device != nullptr && device->currentText().contains(QLatin1String("from the trace")));
        QCOMPARE(window.session().analysis()->device.source, DeviceSource::Trace);
        window.runner().setCommand(command("good"));
        QTimer closer;
        connect(&closer, &QTimer::timeout, this, [] {
            auto* dialog = qobject_cast<CalibrateDialog*>(QApplication::activeModalWidget());
            if (dialog != nullptr && !dialog->running()) dialog->reject();
        });
        closer.start(20);
        window.calibrate();
        QVERIFY(QTest::qWaitFor([&] { return window.settled(); }, kLoadMs));
        const DeviceSpec& now = window.session().analysis()->device;
        QCOMPARE(now.source, DeviceSource::Calibrated);
        QCOMPARE(now.copy_bandwidth_Bps, 4.2e12);
        QVERIFY2(device->currentText().contains(QLatin1String("(calibrated)")), qPrintable(device->currentText()));
        // The next window, too.
        MainWindow next(false);
        QVERIFY(openAndSettle(next, {sampleTrace()}));
        QCOMPARE(next.session().analysis()->device.source, DeviceSource::Calibrated);
    }

private:
    static QString command(const char* way) {
        return QStringLiteral("'%1' %2").arg(QStringLiteral(FUSESCOPE_FAKE_RUNNER), QLatin1String(way));
    }
    QString outcomeOf(const char* way) {
        RunnerChild runner;
        runner.setCommand(command(way));
        CalibrateDialog dialog(&runner);
        QSignalSpy ended(&dialog, &CalibrateDialog::ended);
        if (ended.empty() && !ended.wait(kLoadMs)) return QStringLiteral("no end");
        kept_for_ = dialog.keptFor();
        return dialog.outcome();
    }
    QString kept_for_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::CalibrateTest)
#include "calibrate_test.moc"
