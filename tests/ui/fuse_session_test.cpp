// SPDX-License-Identifier: GPL-3.0-or-later
// Where results of the window stay: with another step, in a session, in a report.
#include "tests/ui/fuse_fixture.h"

#include <QFileDialog>
#include <QSignalSpy>
#include <QTemporaryDir>

namespace fusescope {

class FuseSessionTest : public QObject, FuseFixture {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(open()); }
    void cleanupTestCase() { close(); }
    void init() {
        begin();
        row_ = rowOf("rms_norm");
        session().pick({PickKind::Finding, static_cast<std::uint32_t>(row_)});
    }
    void cleanup() { end(); }

    void resultsStayWithAnotherStepAndGoWithTheFiles() {
        queue().fuse(row_);
        answerAll(row_, 400, 50);
        const std::size_t landed = session().measured().results().size();
        const AnalysisPtr now = session().analysis();
        auto other = std::make_shared<Analysis>(*now);
        session().setAnalysis(other);
        QCOMPARE(session().measured().results().size(), landed);
        auto another = std::make_shared<Analysis>(*now);
        another->files.push_back("other.pt2");
        session().setAnalysis(another);
        QVERIFY(session().measured().empty());
        session().setAnalysis(now);
        QVERIFY(prepared());
    }

    void aSessionBringsEverythingBack() {
        queue().fuse(row_);
        answerAll(row_, 400, 50);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("mine.fusescope"));
        QSignalSpy written(window_.get(), &MainWindow::exported);
        window_->saveSession(path);
        QVERIFY(written.wait(kLoadMs));
        QVERIFY(written.front().at(1).toBool());
        const MeasuredSet before = session().measured();
        const QString total = headline();

        MainWindow other(false);
        other.resize(1600, 1000);
        other.show();
        QVERIFY(openAndSettle(other, {path}));
        QVERIFY(other.banner().sentences().isEmpty());
        QVERIFY(other.session().analysis());
        QCOMPARE(other.session().selection().pick, (Pick{PickKind::Finding, static_cast<std::uint32_t>(row_)}));
        QCOMPARE(other.session().measured().results().size(), before.results().size());
        for (const auto& [key, result] : before.results()) {
            const MeasuredResult* again = other.session().measured().find(key.first, key.second);
            QVERIFY(again != nullptr);
            QCOMPARE(again->result.device, result.result.device);
            QCOMPARE(again->result.directions.size(), result.result.directions.size());
            QCOMPARE(again->result.directions[0].fused.us.median, result.result.directions[0].fused.us.median);
            QCOMPARE(again->fused_bytes, result.fused_bytes);
            QCOMPARE(again->when_s, result.when_s);
        }
        QCOMPARE(applyMeasured(*other.session().analysis(), other.session().measured()).predicted_step_ns.expected,
                 applyMeasured(analysis(), before).predicted_step_ns.expected);

        // Another content than it was saved with: the results are left out, and it is said.
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadWrite));
        QByteArray json = file.readAll();
        const qsizetype hash = json.indexOf("\"sha256\": \"") + 11;
        json[hash] = json[hash] == '0' ? '1' : '0';
        file.resize(0);
        file.seek(0);
        file.write(json);
        file.close();
        QVERIFY(openAndSettle(other, {path}));
        QVERIFY(other.session().measured().empty());
        QCOMPARE(other.banner().sentences().size(), 1);
        // No session at all.
        QFile broken(folder.filePath(QStringLiteral("broken.fusescope")));
        QVERIFY(broken.open(QIODevice::WriteOnly));
        broken.write("{\"schema\": \"something\"}");
        broken.close();
        QVERIFY(openAndSettle(other, {broken.fileName()}));
        QVERIFY(other.banner().sentences().front().contains(QLatin1String("session")));
    }

    void exportedReportsHoldResults() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("report.md"));
        queue().fuse(row_);
        answerAll(row_, 400, 48);
        QSignalSpy written(window_.get(), &MainWindow::exported);
        QTimer asker;
        connect(&asker, &QTimer::timeout, this, [&path] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            dialog->selectFile(path);
            QMetaObject::invokeMethod(dialog, "accept");
        });
        asker.start(20);
        for (QAction* one : window_->findChildren<QAction*>())
            if (one->text().startsWith(QLatin1String("Export &Markdown"))) one->trigger();
        asker.stop();
        QVERIFY(!written.empty() || written.wait(kLoadMs));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray report = file.readAll();
        QVERIFY(report.contains("## Measured"));
        QVERIFY(report.contains("| 400 µs ±0% | 48.0 µs ±0% | 8.33x |"));
    }

private:
    std::size_t row_ = 0;
};

} // namespace fusescope

QTEST_MAIN(fusescope::FuseSessionTest)
#include "fuse_session_test.moc"
