// SPDX-License-Identifier: GPL-3.0-or-later
// Regions, jobs and undo while another step of the same files comes in: nothing is lost, nothing comes back by itself.
#include "tests/ui/played_runner.h"
#include "tests/ui/window_harness.h"

#include "ui/base/paint.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/panels/findings_panel.h"

#include <QTextBrowser>
#include <QThreadPool>

#include <functional>

namespace fusescope {

class StepChangeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        window_ = windowOnSample();
        QVERIFY(window_);
    }
    void cleanupTestCase() { window_.reset(); }
    void init() {
        played_ = std::make_unique<PlayedRunner>();
        queue().setRunner(played_.get());
        const std::vector<NodeId> node = nodes("mul_12");
        QCOMPARE(node.size(), std::size_t{1});
        session().wantRegion({node, {}, {}});
        QVERIFY(looked());
        QCOMPARE(session().regions().size(), std::size_t{1});
        QCOMPARE(played_->asked.size(), std::size_t{1});
        played_->answer(2000, 600);
        QVERIFY(!session().measured().empty());
    }
    void cleanup() {
        queue().cancelAll();
        session().setMeasured({});
        while (!session().regions().empty()) session().removeRegion(session().regions().front()->id);
        queue().undoStack()->clear();
        queue().setRunner(nullptr);
        window_->banner().clear();
        played_.reset();
    }

    void whatWasClearedCanStillComeBack() {
        queue().clearMeasured();
        QVERIFY(session().measured().empty());
        session().removeRegion(session().regions().front()->id);
        anotherStep([] {});
        QVERIFY(queue().undoStack()->canUndo());
        queue().undoStack()->undo();
        QVERIFY(!session().measured().empty());
    }

    void aRegionRemovedMeanwhileStaysAway() {
        anotherStep([this] { queue().removeRegion(row()); });
        QVERIFY(session().regions().empty());
        queue().undoStack()->undo();
        QVERIFY(looked());
        QCOMPARE(session().regions().size(), std::size_t{1});
    }

    void undoAndRedoAtOnceLeaveItRemoved() {
        queue().removeRegion(row());
        anotherStep([] {});
        QVERIFY(queue().undoStack()->canUndo());
        queue().undoStack()->undo(); // is made anew, in a worker
        queue().undoStack()->redo();
        QVERIFY(looked());
        QVERIFY(session().regions().empty());
        QVERIFY(queue().awaited().empty());
        QVERIFY(session().measured().empty());
    }

    void fusePressedMeanwhileIsNotLost() {
        anotherStep([this] { queue().fuse(row()); });
        QTRY_COMPARE(played_->asked.size(), std::size_t{2});
        QCOMPARE(played_->asked.back().id, session().regions().front()->id);
        QVERIFY(queue().job(row()).active());
    }

    void othersGoOnWhereTheRegionIsNotOfThisStep() {
        ChosenRegion strange;
        strange.id = "region.strange";
        strange.nodes = {"no_such_node"};
        queue().restoreRegions({strange});
        QVERIFY(looked());
        QCOMPARE(session().regions().size(), std::size_t{1});
        queue().fuse(0);
        QTRY_COMPARE(queue().active(), std::size_t{1});
        QTRY_COMPARE(played_->asked.size(), std::size_t{2});
    }

    void theDetailsAreOfTheStepThatIsShown() {
        // Picked while it is still of the step before; then what is in its place is another.
        const ChosenPtr region = session().regions().front();
        session().pick(session().pickOfWork(row()));
        auto other = std::make_shared<ChosenRegion>(*region);
        other->title = other->work.reasons.emplace_back("made of the other step");
        session().addRegions({other});
        const QString shown = window_->findings().findChild<QTextBrowser*>()->toPlainText();
        QVERIFY2(shown.contains(QLatin1String("made of the other step")), qPrintable(shown));
    }

    void regionsOnTheirWayAreNotSettled() {
        queue().restoreRegions({*session().regions().front()});
        QVERIFY(queue().choosing());
        QVERIFY(!window_->settled());
        QVERIFY(looked());
        QTRY_VERIFY(window_->settled());
    }

    void anAnalysisThatIsLetGoIsNotHeldByWorkers() {
        // Gigabytes are not to be freed between two frames: the answer of a worker does not hold them.
        std::weak_ptr<const Analysis> gone;
        {
            const auto one = std::make_shared<Analysis>(*session().analysis());
            gone = one;
            session().setAnalysis(one);
        }
        QVERIFY(queue().choosing());
        QThreadPool::globalInstance()->waitForDone(); // answers lie in the event queue
        session().setAnalysis(std::make_shared<Analysis>(*session().analysis()));
        QThreadPool::globalInstance()->waitForDone();
        QVERIFY(gone.expired());
        QVERIFY(looked());
    }

private:
    Session& session() { return window_->session(); }
    FuseQueue& queue() { return window_->fuseQueue(); }
    bool looked() {
        return QTest::qWaitFor([&] { return queue().prepared() && !queue().choosing(); }, kLoadMs);
    }
    std::size_t row() { return session().analysis()->findings.size(); } // of the only region
    std::vector<NodeId> nodes(const char* name) {
        std::vector<NodeId> out;
        const OpGraph& ops = session().analysis()->graph->ops;
        for (std::size_t n = 0; n < ops.nodes.size(); ++n)
            if (ops.name(NodeId(n)) == name) out.emplace_back(n);
        return out;
    }
    // Another analysis of the same reading; `at_once` before any worker has answered.
    void anotherStep(const std::function<void()>& at_once) {
        session().setAnalysis(std::make_shared<Analysis>(*session().analysis()));
        at_once();
        QVERIFY(looked());
    }

    std::unique_ptr<MainWindow> window_;
    std::unique_ptr<PlayedRunner> played_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::StepChangeTest)
#include "step_change_test.moc"
