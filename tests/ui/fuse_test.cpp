// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring findings in the window: buttons, queue, cancelling, results, undo. The whole window on the bundled sample,
// with a runner that the test plays itself.
#include "tests/ui/played_runner.h"
#include "tests/ui/window_harness.h"

#include "ui/fuse/fuse_actions.h"
#include "ui/fuse/fuse_bar.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/fuse/fuse_words.h"
#include "ui/models/finding_model.h"
#include "ui/models/roles.h"
#include "ui/panels/finding_card.h"
#include "ui/panels/findings_panel.h"

#include <QAction>
#include <QFileDialog>
#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTextBrowser>

#include <vector>

namespace fusescope {

class FuseTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        window_ = windowOnSample();
        QVERIFY(window_);
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared(); }, kLoadMs));
    }
    void cleanupTestCase() { window_.reset(); }
    void init() {
        played_ = std::make_unique<PlayedRunner>();
        queue().setRunner(played_.get());
        row_ = rowOf("rms_norm");
        session().pick({PickKind::Finding, static_cast<std::uint32_t>(row_)});
    }
    void cleanup() {
        queue().cancelAll();
        session().setMeasured({});
        queue().undoStack()->clear();
        queue().setRunner(nullptr);
        played_.reset();
    }

    void theButtonSaysWhyNot() {
        QVERIFY(button()->isVisible());
        QVERIFY(button()->isEnabled());
        QCOMPARE(button()->text(), QStringLiteral("Fuse"));
        played_->setThere(false);
        QVERIFY(!button()->isEnabled());
        QVERIFY(button()->toolTip().contains(QLatin1String("No runner")));
        QVERIFY(action("&Fuse the selection") != nullptr);
        QVERIFY(!action("&Fuse the selection")->isEnabled());
        QVERIFY(!action("Fuse all in the &plan")->isEnabled());
        played_->setThere(true);
        QVERIFY(button()->isEnabled());
        // What has no fused form says so.
        for (std::size_t row = 0; row < analysis().findings.size(); ++row) {
            const Finding& f = analysis().findings[row];
            if (f.pattern != Pattern::Optimizer && f.verdict != Verdict::AlreadyFused) continue;
            QVERIFY(!queue().reasonAgainst(row).isEmpty());
            session().pick({PickKind::Finding, static_cast<std::uint32_t>(row)});
            QVERIFY(!button()->isEnabled());
        }
    }

    void fTheButtonAndTheCardFuse() {
        list()->setFocus();
        QTest::keyClick(list(), Qt::Key_F);
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QCOMPARE(button()->text(), QStringLiteral("Cancel"));
        QTest::mouseClick(button(), Qt::LeftButton);
        QCOMPARE(played_->cancelled, std::vector<qint64>{1});
        played_->fail("cancelled");
        QCOMPARE(state(), FuseJob::State::Idle);
        QTest::mouseClick(button(), Qt::LeftButton);
        QCOMPARE(played_->asked.size(), std::size_t{2});
        played_->fail("cancelled");
        const QModelIndex index = list()->currentIndex();
        list()->scrollTo(index);
        QTest::mouseClick(list()->viewport(), Qt::LeftButton, Qt::NoModifier,
                          FindingCardDelegate::buttonRect(list()->visualRect(index)).center());
        QCOMPARE(played_->asked.size(), std::size_t{3});
        QCOMPARE(played_->asked.back().pattern, std::string("rms_norm"));
        QVERIFY(!played_->asked.back().fused.steps.empty());
    }

    void progressShowsOnTheCard() {
        const int before = cardHeight();
        queue().fuse(row_);
        QVERIFY(cardHeight() > before);
        Q_EMIT played_->progressed(played_->last, QStringLiteral("fused forward"), 0.5);
        const FuseJob job = queue().job(row_);
        QCOMPARE(job.state, FuseJob::State::Running);
        QCOMPARE(job.fraction, 0.5 / static_cast<double>(job.of));
        QVERIFY(jobText(job).contains(QLatin1String("fused forward")));
        played_->fail("cancelled");
        QCOMPARE(cardHeight(), before);
    }

    void theResultLandsAndIsUndone() {
        const QString predicted = headline();
        queue().fuse(row_);
        answerAll(row_, 400, 48);
        QCOMPARE(state(), FuseJob::State::Idle);
        QVERIFY(!session().measured().empty());
        const MeasuredFinding f = applyMeasured(analysis(), analysis().findings[row_], session().measured());
        QVERIFY(f.whole());
        QVERIFY(detail().contains(QLatin1String("Measured")));
        QVERIFY(detail().contains(QLatin1String("NVIDIA H200")));
        QVERIFY(detail().contains(QStringLiteral("8.33×")));
        QCOMPARE(button()->text(), QStringLiteral("Measure again"));
        QVERIFY(headline() != predicted);
        QVERIFY2(headline().contains(QLatin1String("measured")), qPrintable(headline()));
        QVERIFY(findings()->copyText().contains(QLatin1String("**Measured**")));
        // The step's new length: all that the plan takes of the finding, measured, the rest predicted.
        const MeasuredPlan plan = applyMeasured(analysis(), session().measured());
        QVERIFY(plan.predicted_step_ns.expected > 0);
        QCOMPARE(plan.measured, std::size_t{1});
        const QString more = headlineTip();
        QVERIFY2(more.contains(QStringLiteral("predicted still")), qPrintable(more));
        QVERIFY(more.contains(QStringLiteral("measured so far")));
        QVERIFY(stillPredictedText({}).isEmpty());

        const std::size_t landed = session().measured().results().size();
        for (std::size_t i = 0; i < landed; ++i) QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
        QVERIFY(session().measured().empty());
        QCOMPARE(headline(), predicted);
        QVERIFY(!detail().contains(QLatin1String("Measured")));
        QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier | Qt::ShiftModifier);
        QCOMPARE(session().measured().results().size(), std::size_t{1});
        action("C&lear measured results")->trigger();
        QVERIFY(session().measured().empty());
        QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(session().measured().results().size(), std::size_t{1});
    }

    void theCpuSaysSoAndOverridesNothing() {
        const QString predicted = headline();
        queue().fuse(row_);
        answerAll(row_, 4000, 50, false);
        QCOMPARE(headline(), predicted);
        QVERIFY(detail().contains(QLatin1String("Ran on the CPU")));
        const auto* model = findings()->findChild<FindingModel*>();
        const MeasuredFinding* m = model->measured(static_cast<int>(row_));
        QVERIFY(m != nullptr && !m->any());
        QVERIFY(measuredLine(*m).startsWith(QLatin1String("CPU")));
    }

    void aCpuRunDoesNotTakeTheGpusPlace() {
        queue().fuse(row_);
        answerAll(row_, 400, 48);
        const QString with = headline();
        const int undo = queue().undoStack()->count();
        QSignalSpy told(&queue(), &FuseQueue::refused);
        queue().fuse(row_);
        answerAll(row_, 4000, 50, false);
        QCOMPARE(headline(), with);
        QVERIFY(detail().contains(QLatin1String("NVIDIA H200")));
        QVERIFY(!detail().contains(QLatin1String("Ran on the CPU")));
        QCOMPARE(told.size(), 1); // once, of all its shapes
        QVERIFY(told[0][0].toString().contains(QLatin1String("ran on CPU")));
        QCOMPARE(queue().undoStack()->count(), undo);
        queue().fuse(row_); // the GPU once more: that counts
        answerAll(row_, 400, 200);
        QVERIFY(headline() != with);
    }

    void whatGoesWrongStandsOnTheFinding() {
        for (const char* code : {"out_of_memory", "crashed", "hung", "unsupported", "time_limit", "internal"}) {
            queue().fuse(row_);
            played_->fail(code);
            QCOMPARE(state(), FuseJob::State::Failed);
            const auto* note = bar()->findChild<QLabel*>();
            QVERIFY(note->isVisible());
            QVERIFY2(note->text().contains(QLatin1String("why it failed")), qPrintable(note->text()));
            QVERIFY(button()->isEnabled()); // once more
        }
        QVERIFY(session().measured().empty());
    }

    void thePlanIsMeasuredOneByOne() {
        action("Fuse all in the &plan")->trigger();
        const std::size_t wanted = queue().active();
        QVERIFY(wanted >= 2);
        QCOMPARE(played_->asked.size(), std::size_t{1}); // one on its way
        int guard = 0;
        while (queue().active() > 0 && ++guard < 200) played_->answer(300, 100);
        QCOMPARE(queue().active(), std::size_t{0});
        QCOMPARE(applyMeasured(analysis(), session().measured()).measured, wanted);
        QVERIFY(headline().contains(QLatin1String("measured")));
    }

    // Everything of the plan is slower when fused: what had lost to it is the plan now.
    void thePlanIsChosenAgain() {
        const std::vector<std::string> before = analysis().plan.findings;
        action("Fuse all in the &plan")->trigger();
        int guard = 0;
        while (queue().active() > 0 && ++guard < 200) played_->answer(100, 300);
        const MeasuredPlan& plan = session().measuredPlan();
        for (const std::string& id : before)
            if (session().measured().any(id))
                QVERIFY2(std::find(plan.plan.findings.begin(), plan.plan.findings.end(), id) ==
                             plan.plan.findings.end(),
                         id.c_str());
        QVERIFY(!plan.left_out.empty());
        const auto tip = headlineTip();
        QVERIFY2(tip.contains(QLatin1String("Left out of the plan")), qPrintable(tip));
        session().setMeasured({});
        QCOMPARE(session().measuredPlan().plan.findings, before);
    }

    void withoutARunnerNobodyWaits() {
        queue().fusePlan();
        const std::size_t wanted = queue().active();
        played_->fail("no_runner");
        QCOMPARE(queue().active(), std::size_t{0});
        QCOMPARE(played_->asked.size(), std::size_t{1});
        std::size_t failed = 0;
        for (std::size_t row = 0; row < analysis().findings.size(); ++row)
            failed += queue().job(row).state == FuseJob::State::Failed ? 1 : 0;
        QCOMPARE(failed, wanted);
        QVERIFY(errorWords(queue().job(row_).error).long_text.contains(QLatin1String("ssh gpu-box")));
    }

    void cancelOfOneThatWaitsLeavesTheOthers() {
        queue().fusePlan();
        const std::size_t wanted = queue().active();
        std::size_t waiting = 0;
        for (std::size_t row = 0; row < analysis().findings.size(); ++row)
            if (queue().job(row).state == FuseJob::State::Waiting) waiting = row;
        queue().cancel(waiting);
        QCOMPARE(queue().active(), wanted - 1);
        QVERIFY(played_->cancelled.empty());
        action("&Cancel all measurements")->trigger();
        QCOMPARE(queue().active(), std::size_t{0});
        QCOMPARE(played_->cancelled.size(), std::size_t{1});
        played_->answer(300, 100); // too late: nobody's
        QVERIFY(session().measured().empty());
    }

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
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared(); }, kLoadMs));
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

    void aViewFusesToo() {
        session().clear();
        QMenu menu;
        addFuseActions(menu, &session(), {PickKind::Kernel, analysis().findings[row_].instances[0].forward[0].value});
        QVERIFY(!menu.actions().isEmpty());
        QAction* mine = nullptr;
        for (QAction* one : menu.actions())
            if (one->text().contains(titleOf(analysis().findings[row_]))) mine = one;
        QVERIFY(mine != nullptr);
        mine->trigger();
        QVERIFY(queue().job(row_).active());
        QCOMPARE(session().selection().pick, (Pick{PickKind::Finding, static_cast<std::uint32_t>(row_)}));
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

    // A decode step has a shape for each length of the cache.
    void everyShapeIsMeasuredTheLongestFirst() {
        auto made = std::make_shared<Analysis>();
        made->device.name = "NVIDIA H200";
        made->device.source = DeviceSource::Trace;
        Finding norms;
        norms.id = "rms_norm";
        norms.pattern = Pattern::RmsNorm;
        for (int i = 0; i < 9; ++i) {
            Instance one;
            one.pattern = Pattern::RmsNorm;
            one.from_trace = true;
            one.geometry.dtype = DType::BFloat16;
            one.geometry.rows = 16.0 * (i + 1);
            one.geometry.width = 64;
            one.geometry.eps = 1e-6;
            one.geometry.sizes = {1, 16 * (i + 1), 64};
            one.shape = std::to_string(16 * (i + 1)) + "x64 bf16";
            one.forward_ns = 1000.0 * (1 + (i * 5) % 9); // in no order
            norms.instances.push_back(one);
        }
        made->findings.push_back(std::move(norms));
        Session own;
        FuseQueue all(&own);
        PlayedRunner runner;
        all.setRunner(&runner);
        own.setAnalysis(made);
        QVERIFY(QTest::qWaitFor([&] { return all.prepared(); }, kLoadMs));
        QCOMPARE(all.reasonAgainst(0), QString());
        all.fuse(0);
        QCOMPARE(all.job(0).of, std::size_t{9});
        // 9000 ns is the instance i with 5 i = 8 (mod 9): i = 7, of 128 rows.
        QCOMPARE(runner.asked.front().inputs.front().meta.sizes, (std::vector<std::int64_t>{1, 128, 64}));
        for (int i = 0; i < 7; ++i) runner.answer(9, 4);
        QVERIFY(jobText(all.job(0)).contains(QLatin1String("shape 8 of 9")));
        // Cancelled, it keeps what is measured.
        all.cancel(0);
        runner.fail("cancelled");
        // A form without a backward says so in the list, too.
        MeasuredSet alone = own.measured();
        QVERIFY(!measuredLine(applyMeasured(*made, made->findings[0], alone)).contains(QLatin1String("alone")));
        for (const auto& [key, result] : own.measured().results()) {
            MeasuredResult noted = result;
            noted.note = "pointwise_chain has no backward: the forward alone is measured";
            alone.set(noted);
        }
        const QString told = measuredLine(applyMeasured(*made, made->findings[0], alone));
        QVERIFY2(told.contains(QStringLiteral("forward 2.25× alone")), qPrintable(told));
        const MeasuredFinding measured = applyMeasured(*made, made->findings[0], own.measured());
        QCOMPARE(measured.measured, std::size_t{7});
        QVERIFY2(measuredLine(measured).endsWith(QStringLiteral("7 of 9 shapes")), qPrintable(measuredLine(measured)));
        QVERIFY(measuredHtml(measured, Theme::Light).contains(QLatin1String("in 7 of 9 shapes")));
    }

    void twoHundredClicks() {
        const auto click = [&](int i) {
            queue().fuse(row_);
            if (i % 3 == 0)
                played_->fail("crashed");
            else
                answerAll(row_, 400, 50 + i);
        };
        for (int i = 0; i < 3; ++i) click(i); // what the first result shows is made once
        const std::size_t children = window_->findChildren<QObject*>().size();
        for (int i = 3; i < 200; ++i) click(i);
        QCOMPARE(queue().active(), std::size_t{0});
        QVERIFY(static_cast<std::size_t>(window_->findChildren<QObject*>().size()) <= children + 4);
        QVERIFY(queue().undoStack()->count() <= 200);
    }

private:
    Session& session() { return window_->session(); }
    const Analysis& analysis() { return *session().analysis(); }
    FuseQueue& queue() { return window_->fuseQueue(); }
    FindingsPanel* findings() { return &window_->findings(); }
    QListView* list() { return findings()->findChild<QListView*>(); }
    FuseBar* bar() { return findings()->findChild<FuseBar*>(); }
    QPushButton* button() { return bar()->findChild<QPushButton*>(QStringLiteral("fuseButton")); }
    QString detail() { return findings()->findChild<QTextBrowser*>()->toPlainText(); }
    FuseJob::State state() { return queue().job(row_).state; }
    int cardHeight() { return list()->visualRect(list()->currentIndex()).height(); }
    const QLabel* headlineLabel() {
        for (const QLabel* label : window_->findChildren<QLabel*>())
            if (label->text().startsWith(QLatin1String("step ")) && label->font().bold() &&
                label->parentWidget()->inherits("QToolBar"))
                return label;
        return nullptr;
    }
    QString headline() {
        const QLabel* label = headlineLabel();
        return label != nullptr ? label->text() : QString();
    }
    QString headlineTip() {
        const QLabel* label = headlineLabel();
        return label != nullptr ? label->toolTip() : QString();
    }
    QAction* action(const char* name) {
        for (QAction* one : window_->findChildren<QAction*>())
            if (one->text() == QLatin1String(name)) return one;
        return nullptr;
    }
    std::size_t rowOf(const char* id) {
        for (std::size_t row = 0; row < analysis().findings.size(); ++row)
            if (analysis().findings[row].id == id) return row;
        return 0;
    }
    void answerAll(std::size_t row, double before_us, double after_us, bool gpu = true) {
        int guard = 0;
        while (queue().job(row).active() && ++guard < 20) played_->answer(before_us, after_us, gpu);
    }

    std::unique_ptr<MainWindow> window_;
    std::unique_ptr<PlayedRunner> played_;
    std::size_t row_ = 0;
};

} // namespace fusescope

QTEST_MAIN(fusescope::FuseTest)
#include "fuse_test.moc"
