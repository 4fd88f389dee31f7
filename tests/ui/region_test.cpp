// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of the user's own choice in the window: from the graph, the timeline, the model tree; their card, result,
// removal and session. The whole window on the bundled sample, with a runner that the test plays itself.
#include "tests/ui/played_runner.h"
#include "tests/ui/window_harness.h"

#include "app/kept_results.h"
#include "core/measured/after.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_actions.h"
#include "ui/fuse/fuse_bar.h"
#include "ui/fuse/fuse_queue.h"
#include "ui/fuse/fuse_words.h"
#include "ui/fuse/region_words.h"
#include "ui/graph/graph_canvas.h"
#include "ui/graph/graph_panel.h"
#include "ui/models/finding_model.h"
#include "ui/panels/finding_card.h"
#include "ui/panels/findings_panel.h"
#include "ui/timeline/slice_tip.h"
#include "ui/timeline/timeline_canvas.h"
#include "ui/timeline/timeline_panel.h"

#include <QLabel>
#include <QListView>
#include <QMenu>
#include <QPushButton>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTextBrowser>

#include <cmath>
#include <initializer_list>
#include <vector>

namespace fusescope {

class RegionTest : public QObject {
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
        session().clear();
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

    void severalNodesBecomeOneKernel() {
        session().pickNodes(nodes({"mul_12", "add_8", "softmax"}));
        QCOMPARE(session().selection().pick.kind, PickKind::Nodes);
        QCOMPARE(session().selection().nodes.size(), std::size_t{3});
        QVERIFY(session().selection().kernels.size() >= 4);
        QVERIFY(fuseThis()->isVisible());
        QVERIFY(fuseThis()->isEnabled());
        QCOMPARE(fuseThis()->accessibleName(), QStringLiteral("Fuse this: 3 nodes"));
        QTRY_COMPARE(fuseThis()->text(), fuseThis()->accessibleName()); // once it is laid out
        QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1});
        const ChosenRegion& region = *session().regions().front();
        QCOMPARE(session().selection().pick, (Pick{PickKind::Region, numberOf(region.id)}));
        QCOMPARE(findings()->chosen(), static_cast<int>(analysis().findings.size()));
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QCOMPARE(played_->asked.back().id, region.id);
        QVERIFY(!played_->asked.back().fused.steps.empty());
        QVERIFY(played_->asked.back().backward);
        // Attention, which is in the plan, has this work already: nothing is counted twice.
        const QString before = headline();
        played_->answer(2000, 600);
        QCOMPARE(headline(), before);
        QVERIFY2(detail().contains(QLatin1String("Not counted once more in the step")), qPrintable(detail()));
        QVERIFY(detail().contains(QLatin1String("attention")));
        QVERIFY(detail().contains(QLatin1String("Its backward is made from it")));
        const auto* model = findings()->findChild<FindingModel*>();
        const MeasuredFinding* m = model->measured(findings()->chosen());
        QVERIFY(m != nullptr && m->any());
        QVERIFY2(regionLine(region, *m).contains(QLatin1String("forward only")), qPrintable(regionLine(region, *m)));
        QVERIFY(findings()->copyText().contains(QLatin1String("**Measured**")));
        // Once more is the same region.
        session().pickNodes(nodes({"mul_12", "add_8", "softmax"}));
        QTest::mouseClick(fuseThis(), Qt::LeftButton);
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1});
        QCOMPARE(played_->asked.size(), std::size_t{2});
    }

    void whatIsBesideThePlanCounts() {
        // The lookup of the tokens is in no finding; as if a kernel made it in half the time.
        session().wantRegion({nodes({"cos", "mul"}), {}, {}});
        QVERIFY(chosen());
        QVERIFY2(session().regions().size() == 1, qPrintable(window_->banner().sentences().join(QLatin1Char(' '))));
        const ChosenRegion& region = *session().regions().front();
        QVERIFY(countedWith(analysis(), session().measuredPlan().plan, session().regions(), 0).empty());
        const double own = region.work.instances.front().forward_ns;
        const double before = applyMeasured(analysis(), session().measured()).predicted_step_ns.expected;
        played_->answer(own / 1000, own / 2000);
        const MeasuredPlan plan = applyMeasured(analysis(), session().measured(), session().regions());
        QCOMPARE(plan.regions, std::size_t{1});
        QVERIFY(std::abs(plan.predicted_step_ns.expected - (before - own / 2)) < 1);
        QVERIFY2(headline().contains(QLatin1String("measured")), qPrintable(headline()));
        QVERIFY(detail().contains(QLatin1String("Counted in the step, beside the plan")));
        QVERIFY(measuredPlanText(analysis(), plan).contains(QLatin1String("and 1 region of yours")));
    }

    void withoutAFusedKernelItIsMeasuredAsItIs() {
        session().wantRegion({nodes({"linear_4", "silu"}), {}, {}});
        QVERIFY(chosen());
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QVERIFY(played_->asked.back().fused.steps.empty());
        const QString before = headline();
        played_->answer(900, 0, true, false);
        QCOMPARE(headline(), before);
        QVERIFY2(detail().contains(QLatin1String("There is no fused kernel for it")), qPrintable(detail()));
        QVERIFY(detail().contains(QLatin1String("A limit for any fused kernel, not a prediction")));
        const auto* model = findings()->findChild<FindingModel*>();
        const MeasuredFinding* m = model->measured(findings()->chosen());
        QVERIFY(m != nullptr && !m->any());
        const QString line = regionLine(*session().regions().front(), *m);
        QVERIFY2(line.startsWith(QStringLiteral("forward 900 µs, limit ")), qPrintable(line));
    }

    void aFindingIsFoundByItsNodes() {
        session().pickNodes(nodes({"silu", "mul_15"}));
        QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(chosen());
        QVERIFY(session().regions().empty());
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QCOMPARE(played_->asked.back().pattern, std::string("swiglu"));
    }

    void whatCannotBeARegionIsSaid() {
        session().wantRegion({nodes({"mul_3", "linear_6"}), {}, {}});
        QVERIFY(chosen());
        QVERIFY(session().regions().empty());
        QCOMPARE(window_->banner().sentences().size(), 1);
        const QString why = window_->banner().sentences().front();
        QVERIFY2(why.contains(QLatin1String("%mul_3, which leaves to")), qPrintable(why));
        QVERIFY2(why.contains(QLatin1String("comes back at linear_6")), qPrintable(why));
    }

    void aMarkedRangeOfTheTimeline() {
        // From the first to the last kernel of one occurrence of SwiGLU: a projection runs between them.
        const Finding& swiglu = finding("swiglu");
        const TraceStore& trace = *analysis().trace;
        const SliceId first = trace.kernels.slice[swiglu.instances[0].forward.front().index()],
                      last = trace.kernels.slice[swiglu.instances[0].forward.back().index()];
        session().setMarkedRange(trace.slices.ts[first.index()] - 1, trace.endOf(last) + 1);
        QVERIFY(fuseThis()->isVisible());
        QVERIFY2(fuseThis()->accessibleName().contains(QLatin1String("3 kernels in the marked range")),
                 qPrintable(fuseThis()->accessibleName()));
        QTest::keyClick(window_.get(), Qt::Key_Return, Qt::ControlModifier);
        QVERIFY(chosen());
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QCOMPARE(played_->asked.back().baseline.steps.size(), std::size_t{3});
        QCOMPARE(played_->asked.back().fused.steps.size(), std::size_t{2});
        QVERIFY(session().regions().front()->swapsIn());
        QVERIFY2(detail().contains(QLatin1String("Swapped in where they lie inside")), qPrintable(detail()));
        // Picking takes the range's place.
        QCOMPARE(session().markedRange().first, session().markedRange().second);
    }

    void draggingMarksARange() {
        auto* canvas = window_->timeline().findChild<TimelineCanvas*>();
        QVERIFY(canvas != nullptr);
        const int y = canvas->height() / 2;
        QTest::mousePress(canvas, Qt::LeftButton, Qt::ShiftModifier, {300, y});
        QTest::mouseMove(canvas, {420, y});
        QTest::mouseRelease(canvas, Qt::LeftButton, Qt::ShiftModifier, {420, y});
        const auto [begin, end] = session().markedRange();
        QVERIFY(begin < end);
        QMenu menu;
        addRegionAction(menu, &session(), selectedWork(session()));
        QCOMPARE(menu.actions().size(), 1);
        QVERIFY(menu.actions().front()->isEnabled());
        session().pick({PickKind::Finding, 0});
        QCOMPARE(session().markedRange().first, session().markedRange().second);
    }

    void aLayerWithThePlan() {
        const ModuleId layer = analysis().link.modules.find("model.model.layers.0");
        session().pick({PickKind::Module, layer.value});
        QVERIFY2(fuseThis()->accessibleName().startsWith(QLatin1String("Measure with the plan's fusions")),
                 qPrintable(fuseThis()->accessibleName()));
        QAction* in_tree = nullptr;
        for (QAction* action : window_->findChildren<QAction*>())
            if (action->text() == QLatin1String("Measure with the plan's fusions: model.model.layers.0"))
                in_tree = action;
        QVERIFY(in_tree != nullptr && in_tree->isEnabled());
        in_tree->trigger();
        QVERIFY(chosen());
        QCOMPARE(played_->asked.size(), std::size_t{1});
        QCOMPARE(played_->asked.back().pattern, std::string("layer"));
        QCOMPARE(played_->asked.back().id, std::string("layer.0"));
        const ChosenRegion& region = *session().regions().front();
        QCOMPARE(region.fusions, analysis().plan.findings);
        QVERIFY(detail().contains(QLatin1String("Predicted: ")));
        played_->answer(10'100, 2'400);
        QVERIFY(detail().contains(QLatin1String("predicted:")));
        const auto* model = findings()->findChild<FindingModel*>();
        const QString line = regionLine(region, *model->measured(findings()->chosen()));
        QVERIFY2(line.contains(QStringLiteral("forward 10.1 ms → 2.40 ms")), qPrintable(line));
        QVERIFY(regionCountText(region).startsWith(QStringLiteral("2×")));
        // Cancelled, it leaves the result that is there.
        queue().fuse(static_cast<std::size_t>(findings()->chosen()));
        queue().cancel(static_cast<std::size_t>(findings()->chosen()));
        played_->fail("cancelled");
        QCOMPARE(session().measured().results().size(), std::size_t{1});
        // And the whole model.
        session().wantRegion({{}, {}, analysis().link.modules.find("")});
        QVERIFY(chosen());
        QCOMPARE(played_->asked.back().pattern, std::string("model"));
    }

    void deleteRemovesAndUndoBringsBack() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        played_->answer(2000, 600);
        list()->setFocus();
        QTest::keyClick(list(), Qt::Key_Delete);
        QVERIFY(session().regions().empty());
        QVERIFY(session().measured().empty());
        QCOMPARE(session().selection().pick, Pick{});
        queue().undoStack()->undo();
        QCOMPARE(session().regions().size(), std::size_t{1});
        QCOMPARE(session().measured().results().size(), std::size_t{1});
        queue().undoStack()->undo(); // the result
        QVERIFY(session().measured().empty());
        QCOMPARE(session().regions().size(), std::size_t{1});
        // While it runs: it is cancelled, and what still comes is nobody's.
        session().pick(session().pickOfWork(analysis().findings.size()));
        queue().fuse(analysis().findings.size());
        QTest::keyClick(list(), Qt::Key_Delete);
        QCOMPARE(played_->cancelled.size(), std::size_t{1});
        played_->answer(2000, 600);
        QVERIFY(session().measured().empty());
        // A finding is not removed.
        session().pick({PickKind::Finding, 0});
        const int rows = list()->model()->rowCount();
        QTest::keyClick(list(), Qt::Key_Delete);
        QCOMPARE(list()->model()->rowCount(), rows);
    }

    void theSectionHasATitleAndAButton() {
        const int rows = list()->model()->rowCount();
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        played_->fail("cancelled");
        QCOMPARE(list()->model()->rowCount(), rows + 1);
        const QModelIndex index = list()->model()->index(rows, 0);
        list()->scrollTo(index);
        const QRect item = list()->visualRect(index), card = FindingCardDelegate::cardRect(item, index);
        QVERIFY(card.top() > item.top());
        QCOMPARE(FindingCardDelegate::cardRect(item, list()->model()->index(0, 0)), item);
        const std::size_t asked = played_->asked.size();
        QTest::mouseClick(list()->viewport(), Qt::LeftButton, Qt::NoModifier,
                          FindingCardDelegate::buttonRect(card).center());
        QCOMPARE(played_->asked.size(), asked + 1);
        QVERIFY(index.data(Qt::AccessibleTextRole).toString().contains(QLatin1String("of your own choice")));
    }

    void menusOfferThePlace() {
        QMenu menu;
        addFuseActions(menu, &session(), {PickKind::Node, nodes({"mul_12"}).front().value});
        QAction* own = nullptr;
        for (QAction* action : menu.actions())
            if (action->text() == QLatin1String("Fuse this: mul_12")) own = action;
        QVERIFY(own != nullptr);
        // On one of several selected nodes: all of them.
        session().pickNodes(nodes({"mul_12", "add_8"}));
        QMenu more;
        addFuseActions(more, &session(), {PickKind::Node, nodes({"mul_12"}).front().value});
        bool both = false;
        for (const QAction* action : more.actions())
            both = both || action->text() == QLatin1String("Fuse this: 2 nodes");
        QVERIFY(both);
        own->trigger();
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1});
        QCOMPARE(session().regions().front()->nodes, std::vector<std::string>{"mul_12"});
    }

    void anotherStepKeepsThem() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        played_->answer(2000, 600);
        const AnalysisPtr now = session().analysis();
        session().setAnalysis(std::make_shared<Analysis>(*now));
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared() && !queue().choosing(); }, kLoadMs));
        QCOMPARE(session().regions().size(), std::size_t{1});
        QVERIFY(queue().reasonAgainst(analysis().findings.size()).isEmpty());
        const auto* model = findings()->findChild<FindingModel*>();
        QVERIFY(model->measured(static_cast<int>(analysis().findings.size())) != nullptr);
        auto another = std::make_shared<Analysis>(*now);
        another->files.push_back("other.pt2");
        session().setAnalysis(another);
        QVERIFY(session().regions().empty());
        session().setAnalysis(now);
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared(); }, kLoadMs));
    }

    void aSessionBringsThemBack() {
        session().wantRegion({{}, {}, analysis().link.modules.find("model.model.layers.1")});
        QVERIFY(chosen());
        played_->answer(10'000, 3'000);
        session().wantRegion({nodes({"silu", "linear_6"}), {}, {}});
        QVERIFY(chosen());
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("mine.fusescope"));
        QSignalSpy written(window_.get(), &MainWindow::exported);
        window_->saveSession(path);
        QVERIFY(written.wait(kLoadMs));

        MainWindow other(false);
        other.resize(1600, 1000);
        other.show();
        const QSignalSpy followed(&other.session(), &Session::regionsChanged);
        QVERIFY(openAndSettle(other, {path}));
        QVERIFY(QTest::qWaitFor([&] { return !other.fuseQueue().choosing(); }, kLoadMs));
        QCOMPARE(other.session().regions().size(), std::size_t{2});
        QCOMPARE(followed.count(), 1); // all views follow each time: a thousand regions would stop the window
        for (std::size_t i = 0; i < 2; ++i) {
            QCOMPARE(other.session().regions()[i]->id, session().regions()[i]->id);
            QCOMPARE(other.session().regions()[i]->note, session().regions()[i]->note);
        }
        QCOMPARE(other.session().selection().pick, session().selection().pick);
        QCOMPARE(other.session().regions()[1]->note, std::string("Added, because they lie between: mul_15"));
        const auto* model = other.findings().findChild<FindingModel*>();
        QVERIFY(model->measured(static_cast<int>(analysis().findings.size())) != nullptr);
    }

    void picturesShowItFused() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        const ChosenPtr region = session().regions().front();
        const Instance& one = region->work.instances.front();
        const double us = one.forward_ns / 1000;
        played_->answer(us, us / 4);
        // The plan's attention has these nodes, so the step's total does not count it: shown while it is selected.
        QVERIFY(!timelineAfter(analysis(), session().measured(), {}, session().regions()));
        const auto after = timelineAfter(analysis(), session().measured(), session().selection(), session().regions());
        QVERIFY(after);
        QCOMPARE(after->places.size(), region->work.instances.size());
        QVERIFY(sliceTip(analysis(), analysis().trace->kernels.slice[one.forward.front().index()], &*after)
                    .contains(text(region->title).toHtmlEscaped()));
        auto* action = window_->timeline().afterAction();
        QVERIFY(action->isEnabled());
        session().clear();
        QVERIFY(!action->isEnabled());
        session().pick({PickKind::Region, numberOf(region->id)});
        QVERIFY(action->isEnabled());
        session().removeRegion(region->id);
        QVERIFY(!action->isEnabled());
    }

    void anEndOfTheWindowKeepsThem() {
        const QTemporaryDir folder;
        const auto windowOn = [&] {
            auto window = std::make_unique<MainWindow>(false);
            window->keepResultsIn(folder.path());
            window->show();
            return openAndSettle(*window, {sampleTrace(), sampleGraph()}) ? std::move(window) : nullptr;
        };
        auto first = windowOn();
        QVERIFY(first);
        PlayedRunner runner;
        first->fuseQueue().setRunner(&runner);
        first->session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(QTest::qWaitFor([&] { return runner.asked.size() == 1; }, kLoadMs));
        runner.answer(2000, 600);
        first->fuseQueue().setRunner(nullptr);
        first.reset();
        auto second = windowOn();
        QVERIFY(second);
        QVERIFY(QTest::qWaitFor([&] { return second->session().regions().size() == 1; }, kLoadMs));
        const auto* model = second->findings().findChild<FindingModel*>();
        QVERIFY(model->measured(model->rowCount() - 1) != nullptr);
        // Before the region is made again: what ends then has it for the next one, and another step is one that has it.
        second = std::make_unique<MainWindow>(false);
        second->keepResultsIn(folder.path());
        second->show();
        std::size_t regions = 1, kept = 0;
        connect(&second->loader(), &Loader::finished, second.get(), [&](const AnalysisPtr& analysis) {
            regions = second->session().regions().size();
            if (const auto file = keptResults(keptResultsPath(folder.path(), analysis->files)))
                kept = file->regions.size();
            second->session().setAnalysis(std::make_shared<Analysis>(*analysis));
        });
        QVERIFY(openAndSettle(*second, {sampleTrace(), sampleGraph()}));
        QCOMPARE(regions, std::size_t{0});
        QCOMPARE(kept, std::size_t{1});
        QVERIFY(QTest::qWaitFor([&] { return second->session().regions().size() == 1; }, kLoadMs));
    }

    void undoBringsBackWhatIsOfThisStep() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        played_->answer(2000, 600);
        queue().removeRegion(analysis().findings.size());
        session().setMeasured(some()); // else there is nothing to undo with another step
        const AnalysisPtr now = session().analysis();
        session().setAnalysis(std::make_shared<Analysis>(*now));
        queue().undoStack()->undo();
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared() && !queue().choosing(); }, kLoadMs));
        QCOMPARE(session().regions().size(), std::size_t{1});
        queue().fuse(analysis().findings.size()); // made of this step, it can be measured
        QCOMPARE(played_->asked.size(), std::size_t{2});
    }

    // The nodes of a region are numbers in one graph; a file may hold another by now.
    void filesThatAreReadAgainBeginWithout() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        played_->answer(2000, 600);
        QVERIFY(openAndSettle(*window_, {sampleTrace(), sampleGraph()}));
        QVERIFY(session().regions().empty());
        QVERIFY(session().measured().empty());
        QVERIFY(!queue().undoStack()->canUndo());
        QVERIFY(QTest::qWaitFor([&] { return queue().prepared(); }, kLoadMs));
    }

    void aTraceAloneSaysWhatIsMissing() {
        MainWindow alone(false);
        alone.show();
        QVERIFY(openAndSettle(alone, {sampleTrace()}));
        QMenu menu;
        addFuseActions(menu, &alone.session(), {PickKind::Kernel, 0});
        bool told = false;
        for (const QAction* action : menu.actions())
            if (action->text().contains(QLatin1String("needs a graph"))) told = !action->isEnabled();
        QVERIFY(told);
        alone.session().wantRegion({{}, {KernelId(std::size_t{0})}, {}});
        QVERIFY(QTest::qWaitFor([&] { return !alone.fuseQueue().choosing(); }, kLoadMs));
        QVERIFY(alone.banner().sentences().front().contains(QLatin1String("a trace alone")));
    }

private:
    Session& session() { return window_->session(); }
    const Analysis& analysis() { return *session().analysis(); }
    FuseQueue& queue() { return window_->fuseQueue(); }
    FindingsPanel* findings() { return &window_->findings(); }
    QListView* list() { return findings()->findChild<QListView*>(); }
    QPushButton* fuseThis() {
        return findings()->findChild<FuseBar*>()->findChild<QPushButton*>(QStringLiteral("fuseThis"));
    }
    QString detail() { return findings()->findChild<QTextBrowser*>()->toPlainText(); }
    MeasuredSet some() {
        MeasuredResult one;
        one.finding = "of another";
        MeasuredSet set;
        set.set(one);
        return set;
    }
    bool chosen() {
        return QTest::qWaitFor([&] { return !queue().choosing(); }, kLoadMs);
    }
    const Finding& finding(const char* id) {
        for (const Finding& f : analysis().findings)
            if (f.id == id) return f;
        return analysis().findings.front();
    }
    std::vector<NodeId> nodes(std::initializer_list<const char*> names) {
        std::vector<NodeId> out;
        const OpGraph& ops = analysis().graph->ops;
        for (std::size_t n = 0; n < ops.nodes.size(); ++n)
            for (const char* name : names)
                if (ops.name(NodeId(n)) == name) out.emplace_back(n);
        return out;
    }
    QString headline() {
        for (const QLabel* label : window_->findChildren<QLabel*>())
            if (label->text().startsWith(QLatin1String("step ")) && label->font().bold() &&
                label->parentWidget()->inherits("QToolBar"))
                return label->text();
        return {};
    }

    std::unique_ptr<MainWindow> window_;
    std::unique_ptr<PlayedRunner> played_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::RegionTest)
#include "region_test.moc"
