// SPDX-License-Identifier: GPL-3.0-or-later
// Opening: samples, halves of them, broken files, dropping, cancelling; the window answers meanwhile.
#include "tests/ui/window_harness.h"

#include "app/session_file.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QMimeData>
#include <QUrl>

#include <sys/stat.h>

namespace fusescope {

namespace {

// With one result.
void writeSession(const QString& path, const QString& input, const QString& device) {
    SessionFile session;
    session.inputs.append({input, sha256Of(input)});
    session.device = device;
    MeasuredResult one;
    one.finding = "rms_norm";
    one.instance_class = "x";
    session.measured.set(one);
    QFile file(path);
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(*sessionJson(session));
}

} // namespace

class WindowFilesTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        prepareApplication();
        QVERIFY2(!sampleTrace().isEmpty() && !sampleGraph().isEmpty(), "the bundled samples are missing");
    }
    void init() {
        window_ = std::make_unique<MainWindow>(false);
        window_->resize(1600, 1000);
        window_->show();
    }
    void cleanup() {
        QVERIFY2(QApplication::activeModalWidget() == nullptr, "opening files must never put a dialog in front");
        window_.reset();
    }

    void opensBothWhileAnswering() {
        QTest::qWait(50);
        Heartbeat heart;
        QElapsedTimer clock;
        clock.start();
        QVERIFY(openAndSettle(*window_, {sampleTrace(), sampleGraph()}));
        QTest::qWait(200); // the first paints belong to it
        qInfo("sample opened and drawn in %lld ms, longest stop of the window %lld ms (wanted: 50)",
              clock.elapsed() - 200, heart.longestMs());
        const AnalysisPtr a = window_->session().analysis();
        QVERIFY(a && a->trace && a->graph);
        QVERIFY(!a->findings.empty());
        QVERIFY(window_->banner().sentences().isEmpty());
        QVERIFY2(heart.longestMs() < 250, "something slow runs in the GUI thread");
    }

    // Bytes that no file has: a session that waits for its writer would keep the window from closing.
    void aSessionThatIsAPipeIsSaid() {
        const QTemporaryDir folder;
        const QString pipe = folder.filePath(QStringLiteral("pipe.fusescope"));
        QCOMPARE(mkfifo(QFile::encodeName(pipe).constData(), 0600), 0);
        QVERIFY(openAndSettle(*window_, {pipe}));
        QCOMPARE(window_->banner().sentences().size(), 1);
        QVERIFY(window_->banner().sentences().front().contains(QLatin1String("pipe")));
    }

    void aSessionOfFilesThatFailIsForgotten() {
        QVERIFY(openAndSettle(*window_, {sampleGraph()}));
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        writeSession(path, badFile("not-zip.pt2"), {});
        QVERIFY(openAndSettle(*window_, {path}));
        QVERIFY(!window_->banner().sentences().isEmpty());
        const AnalysisPtr before = window_->session().analysis();
        QVERIFY(before != nullptr);
        window_->loader().start({}, {"H100 SXM", "last"}, before); // another device for what is shown
        QVERIFY(
            QTest::qWaitFor([&] { return window_->settled() && window_->session().analysis() != before; }, kLoadMs));
        QVERIFY(window_->session().measured().empty()); // the session's are of other files
    }

    void whatIsOpenedLastIsShown() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        writeSession(path, sampleTrace(), {});
        window_->open({path});
        QVERIFY(openAndSettle(*window_, {sampleGraph()}));
        QTest::qWait(300); // the session is read by now
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, kLoadMs));
        const AnalysisPtr a = window_->session().analysis();
        QVERIFY(a && a->graph && !a->trace);
        window_->open({path});
        window_->closeFiles();
        QTest::qWait(300);
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, kLoadMs));
        QVERIFY(window_->session().analysis() == nullptr);
    }

    void aSessionForAGpuThatNobodyKnows() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("a.fusescope"));
        writeSession(path, sampleGraph(), QStringLiteral("Voodoo 2"));
        QVERIFY(openAndSettle(*window_, {path}));
        QVERIFY(window_->session().analysis() != nullptr);
        QCOMPARE(window_->banner().sentences().size(), 1);
        QVERIFY(window_->banner().sentences().front().contains(QLatin1String("'Voodoo 2'")));
        QVERIFY(openAndSettle(*window_, {sampleTrace()})); // and what is opened next opens
        QVERIFY(window_->session().analysis()->trace != nullptr);
        QVERIFY(window_->banner().sentences().isEmpty());
    }

    void anotherStepAndDeviceKeepTheFiles() {
        QVERIFY(openAndSettle(*window_, {sampleTrace(), sampleGraph()}));
        const AnalysisPtr before = window_->session().analysis();
        Heartbeat heart;
        window_->loader().start({}, {"H100 SXM", "all"}, before);
        QVERIFY(
            QTest::qWaitFor([&] { return window_->settled() && window_->session().analysis() != before; }, kLoadMs));
        const AnalysisPtr after = window_->session().analysis();
        QCOMPARE(after->trace, before->trace); // not read again
        QCOMPARE(after->graph, before->graph);
        QVERIFY(after->all_steps);
        QCOMPARE(QString::fromUtf8(nameOf(after->device.source).data()), QStringLiteral("preset"));
        qInfo("longest stop of the window %lld ms", heart.longestMs());
        QVERIFY(heart.longestMs() < 250);
    }

    void oneHalfThenTheOther() {
        QVERIFY(openAndSettle(*window_, {sampleGraph()}));
        AnalysisPtr a = window_->session().analysis();
        QVERIFY(a && a->graph && !a->trace);
        QVERIFY(!window_->grab().isNull()); // empty states of the rest
        const GraphPtr graph = a->graph;
        QVERIFY(openAndSettle(*window_, {sampleTrace()}));
        a = window_->session().analysis();
        QVERIFY(a && a->trace);
        QCOMPARE(a->graph, graph);
    }

    void onlyTheTrace() {
        QVERIFY(openAndSettle(*window_, {sampleTrace()}));
        const AnalysisPtr a = window_->session().analysis();
        QVERIFY(a && a->trace && !a->graph);
        QVERIFY(!window_->grab().isNull());
    }

    void badFilesAreSentences_data() {
        QTest::addColumn<QString>("path");
        for (const char* name : {"empty.pt.trace.json", "no-model.pt2", "no-trace-events.json",
                                 "not-json.pt.trace.json", "not-zip.pt2", "is not there.pt2"})
            QTest::addRow("%s", name) << badFile(name);
        QTest::addRow("a folder") << QStringLiteral(FUSESCOPE_TEST_DATA_DIR);
    }
    void badFilesAreSentences() {
        QFETCH(QString, path);
        QVERIFY(openAndSettle(*window_, {path}));
        QVERIFY(!window_->session().analysis());
        const QStringList sentences = window_->banner().sentences();
        QCOMPARE(sentences.size(), 1);
        QVERIFY(window_->banner().isVisible());
        QVERIFY2(sentences.front().contains(QLatin1String("expected")) &&
                     sentences.front().contains(QLatin1String("found")),
                 qPrintable(sentences.front()));
        QVERIFY(!window_->grab().isNull());
    }

    void badFilesBesideGoodOnes() {
        QVERIFY(openAndSettle(*window_, {badFile("not-zip.pt2"), sampleTrace(), badFile("empty.pt.trace.json")}));
        QVERIFY(window_->session().analysis());
        QCOMPARE(window_->banner().sentences().size(), 2);
        // What is open stays when the next file is useless.
        const AnalysisPtr before = window_->session().analysis();
        QVERIFY(openAndSettle(*window_, {badFile("not-zip.pt2")}));
        QVERIFY(window_->session().analysis());
        QCOMPARE(window_->session().analysis()->trace, before->trace);
        QVERIFY(!window_->banner().sentences().isEmpty());
    }

    void cancelWhileLoading() {
        window_->open({sampleTrace()});
        QVERIFY(window_->loader().running());
        window_->loader().cancel();
        QVERIFY(!window_->loader().running());
        QTest::qWait(500);
        QVERIFY(!window_->session().analysis());
        QVERIFY(window_->banner().sentences().isEmpty()); // the user knows
        QVERIFY(openAndSettle(*window_, {sampleTrace()}));
        QVERIFY(window_->session().analysis());
    }

    void openingAgainOvertakes() {
        window_->open({sampleTrace()});
        window_->open({sampleGraph()});
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, kLoadMs));
        QTest::qWait(300);
        const AnalysisPtr a = window_->session().analysis();
        QVERIFY(a && a->graph);
        QVERIFY(!a->trace);
    }

    void closingWhileLoading() {
        window_->open({sampleTrace(), sampleGraph()});
        window_.reset(); // must neither hang nor crash
        QVERIFY(true);
    }

    void droppedFilesOpen() {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(sampleTrace()), QUrl::fromLocalFile(sampleGraph())});
        QDragEnterEvent enter(QPoint(400, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window_.get(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(QPointF(400, 400), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(window_.get(), &drop);
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, kLoadMs));
        QVERIFY(window_->session().analysis() && window_->session().analysis()->trace &&
                window_->session().analysis()->graph);
    }

    void otherThingsAreNotDropped() {
        QMimeData words;
        words.setText(QStringLiteral("words"));
        QDragEnterEvent enter(QPoint(400, 400), Qt::CopyAction, &words, Qt::LeftButton, Qt::NoModifier);
        enter.ignore();
        QApplication::sendEvent(window_.get(), &enter);
        QVERIFY(!enter.isAccepted());
        QMimeData far;
        far.setUrls({QUrl(QStringLiteral("https://example.org/trace.json"))});
        QDragEnterEvent remote(QPoint(400, 400), Qt::CopyAction, &far, Qt::LeftButton, Qt::NoModifier);
        remote.ignore();
        QApplication::sendEvent(window_.get(), &remote);
        QVERIFY(!remote.isAccepted());
    }

private:
    std::unique_ptr<MainWindow> window_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::WindowFilesTest)
#include "window_files_test.moc"
