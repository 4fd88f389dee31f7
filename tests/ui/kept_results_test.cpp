// SPDX-License-Identifier: GPL-3.0-or-later
// Measured results are there again after a window that ended in any way.
#include "app/kept_results.h"
#include "tests/ui/window_harness.h"
#include "ui/fuse/fuse_queue.h"

#include <QComboBox>
#include <QLockFile>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThread>

#include <optional>
#include <thread>

namespace fusescope {
namespace {

MeasuredSet oneResult(const Analysis& analysis, std::size_t row = 0) {
    const Finding& finding = analysis.findings.at(row);
    MeasuredResult m;
    m.finding = finding.id;
    m.instance_class = instanceClasses(analysis, finding).front().name;
    m.result.device = "NVIDIA H200";
    m.result.on_gpu = true;
    m.runner = "a runner";
    m.when_s = 1'700'000'000;
    Comparison forward;
    forward.direction = "forward";
    forward.has_fused = true;
    forward.baseline.us = {100, 99, 101};
    forward.fused.us = {20, 19, 21};
    m.result.directions.push_back(forward);
    MeasuredSet set;
    set.set(m);
    return set;
}

} // namespace

class KeptResultsTest : public QObject {
    Q_OBJECT

    // A window with a result that waits, since another one holds the file.
    struct Waiting {
        QTemporaryDir folder;
        std::unique_ptr<MainWindow> window;
        QString path;
        std::unique_ptr<QLockFile> other;
        bool locked = false;
    };
    void waiting(Waiting& w) {
        w.window = windowOn(w.folder.path(), {sampleTrace(), sampleGraph()});
        if (!w.window) return;
        w.path = keptResultsPath(w.folder.path(), w.window->session().analysis()->files);
        w.other = std::make_unique<QLockFile>(w.path + QStringLiteral(".lock"));
        w.locked = w.other->lock();
        w.window->session().setMeasured(oneResult(*w.window->session().analysis()));
    }

    std::unique_ptr<MainWindow> windowOn(const QString& folder, const QStringList& files) {
        auto window = std::make_unique<MainWindow>(false);
        window->keepResultsIn(folder);
        window->show();
        if (!openAndSettle(*window, files)) return nullptr;
        return window;
    }

private Q_SLOTS:
    void initTestCase() { prepareApplication(); }

    void anotherWindowShowsThem() {
        const QTemporaryDir folder;
        const QString kept = folder.filePath(QStringLiteral("kept"));
        auto first = windowOn(kept, {sampleTrace(), sampleGraph()});
        QVERIFY(first && first->banner().sentences().isEmpty());
        first->session().setMeasured(oneResult(*first->session().analysis()));
        QCOMPARE(filesIn(kept).size(), 1); // at once: what comes next may be the end
        first.reset();

        auto second = windowOn(kept, {sampleTrace(), sampleGraph()});
        QVERIFY(second != nullptr);
        const auto& results = second->session().measured().results();
        QCOMPARE(results.size(), std::size_t{1});
        QCOMPARE(results.begin()->second.result.directions.at(0).fused.us.median, 20.0);
        QCOMPARE(second->banner().sentences().size(), 1);
        // Cleared by the banner's button, and back by undo; the file goes with them.
        auto* clear = second->banner().findChild<QPushButton*>();
        QVERIFY(clear != nullptr);
        clear->click();
        QVERIFY(second->session().measured().empty());
        QVERIFY(second->banner().sentences().isEmpty());
        QVERIFY(filesIn(kept).isEmpty());
        second->fuseQueue().undoStack()->undo();
        QCOMPARE(second->session().measured().results().size(), std::size_t{1});
        QCOMPARE(filesIn(kept).size(), 1);
    }

    void otherInputsHaveTheirOwn() {
        const QTemporaryDir folder;
        const QString kept = folder.filePath(QStringLiteral("kept"));
        auto window = windowOn(kept, {sampleTrace(), sampleGraph()});
        QVERIFY(window != nullptr);
        window->session().setMeasured(oneResult(*window->session().analysis()));
        QVERIFY(openAndSettle(*window, {badFile("not-zip.pt2")}) && !filesIn(kept).isEmpty());
        window->closeFiles();
        QCOMPARE(filesIn(kept).size(), 1); // forgotten here, not there
        auto other = windowOn(kept, {sampleTrace()});
        QVERIFY(other != nullptr);
        QVERIFY(other->session().measured().empty());
    }

    void aFileOfAnotherTimeIsAnother() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.pt2"));
        QVERIFY(QFile::copy(sampleGraph(), path));
        const std::string name = path.toStdString();
        const QString before = keptResultsPath(folder.path(), {name});
        QCOMPARE(keptResultsPath(folder.path(), {name}), before);
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.setFileTime(QDateTime::fromSecsSinceEpoch(1'000'000'000), QFileDevice::FileModificationTime));
        QVERIFY(keptResultsPath(folder.path(), {name}) != before);
        QVERIFY(keptResultsPath(folder.path(), {}).isEmpty());
    }

    // A run recorded anew under the same name, while the last one is on the screen and was measured.
    void resultsBelongToWhatWasRead() {
        const QTemporaryDir folder;
        const QString kept = folder.filePath(QStringLiteral("kept")), path = folder.filePath(QStringLiteral("run.gz"));
        QVERIFY(QFile::copy(sampleTrace(), path));
        auto window = windowOn(kept, {path});
        QVERIFY(window != nullptr);
        window->session().setMeasured(oneResult(*window->session().analysis()));
        const QStringList before = filesIn(kept);
        QCOMPARE(before.size(), 1);
        QFile file(path);
        QVERIFY(file.setPermissions(QFileDevice::ReadOwner | QFileDevice::WriteOwner));
        QVERIFY(file.open(QIODevice::ReadWrite));
        QVERIFY(file.setFileTime(QDateTime::fromSecsSinceEpoch(1'000'000'000), QFileDevice::FileModificationTime));
        file.close();

        auto* step = window->findChild<QComboBox*>(QStringLiteral("step"));
        QVERIFY(step != nullptr && step->count() > 1);
        const AnalysisPtr last = window->session().analysis();
        step->setCurrentIndex(step->currentIndex() == 0 ? 1 : 0); // the same recording, not read again
        Q_EMIT step->activated(step->currentIndex());
        QTRY_VERIFY_WITH_TIMEOUT(window->session().analysis() != last, kLoadMs);
        QVERIFY(!window->session().measured().empty());
        QCOMPARE(filesIn(kept), before); // none for the new recording

        const QString session = folder.filePath(QStringLiteral("a.fusescope"));
        QSignalSpy written(window.get(), &MainWindow::exported);
        window->saveSession(session);
        QVERIFY(written.count() > 0 || written.wait(kLoadMs));
        QVERIFY(window->banner().sentences().join(QLatin1Char(' ')).contains(QLatin1String("has changed")));
        auto other = windowOn(folder.filePath(QStringLiteral("none")), {session});
        QVERIFY(other != nullptr);
        QVERIFY(other->session().measured().empty());
        QCOMPARE(other->banner().sentences().size(), 1);
    }

    void damagedAndUnwritableAreSaid() {
        const QTemporaryDir folder;
        const QString kept = folder.filePath(QStringLiteral("kept"));
        auto window = windowOn(kept, {sampleTrace(), sampleGraph()});
        QVERIFY(window != nullptr);
        const QString path = keptResultsPath(kept, window->session().analysis()->files);
        QVERIFY(QDir().mkpath(kept));
        QFile broken(path);
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("{\"schema\": ");
        broken.close();
        QVERIFY(!keptResults(path));
        // A file where the folder should be.
        const QString blocked = folder.filePath(QStringLiteral("blocked"));
        QFile file(blocked);
        QVERIFY(file.open(QIODevice::WriteOnly));
        auto other = windowOn(blocked, {sampleTrace(), sampleGraph()});
        QVERIFY(other != nullptr);
        other->session().setMeasured(oneResult(*other->session().analysis()));
        QCOMPARE(other->banner().sentences().size(), 1);
        QVERIFY(other->banner().sentences().front().contains(QLatin1String("expected a folder")));
        QCOMPARE(other->session().measured().results().size(), std::size_t{1}); // still shown
    }

    void whatTwoWindowsMeasureIsThereForAThird() {
        const QTemporaryDir folder;
        const QStringList files{sampleTrace(), sampleGraph()};
        auto first = windowOn(folder.path(), files), second = windowOn(folder.path(), files);
        QVERIFY(first && second);
        first->session().setMeasured(oneResult(*first->session().analysis(), 0));
        second->session().setMeasured(oneResult(*second->session().analysis(), 1));
        MeasuredSet two = first->session().measured();
        const MeasuredSet more = oneResult(*first->session().analysis(), 2);
        two.set(more.results().begin()->second);
        first->session().setMeasured(two);
        auto third = windowOn(folder.path(), files);
        QVERIFY(third != nullptr);
        QCOMPARE(third->session().measured().results().size(), std::size_t{3});
        // What one clears goes, what another shows stays.
        first->session().setMeasured({});
        third = windowOn(folder.path(), files);
        QVERIFY(third != nullptr);
        QCOMPARE(third->session().measured().results().size(), std::size_t{1});
        QVERIFY(third->session().measured().any(third->session().analysis()->findings[1].id));
    }

    // The last chance to keep what waits is worth a wait.
    void whatWaitsIsKeptWhenTheWindowIsClosed() {
        Waiting w;
        waiting(w);
        QVERIFY(w.locked && !QFile::exists(w.path));
        // As a window that is slow: it gives the file free while this one closes.
        std::thread slow([&] {
            QThread::msleep(300);
            w.other->unlock();
        });
        w.window->close();
        slow.join();
        QVERIFY(keptResults(w.path).has_value());
    }

    void whileAnotherWritesItIsTriedAgain() {
        Waiting w;
        waiting(w);
        QVERIFY(w.locked && !QFile::exists(w.path));
        QVERIFY(w.window->banner().sentences().isEmpty());
        w.other->unlock();
        QTRY_VERIFY(QFile::exists(w.path));
        QVERIFY(keptResults(w.path).has_value());
    }
};

} // namespace fusescope

int main(int argc, char** argv) {
    const QApplication application(argc, argv);
    fusescope::KeptResultsTest test;
    return QTest::qExec(&test, argc, argv);
}
#include "kept_results_test.moc"
