// SPDX-License-Identifier: GPL-3.0-or-later
// Regions of the user's own choice in the window: how they are chosen, in the graph, on the timeline, in the model
// tree.
#include "tests/ui/fuse_fixture.h"

#include "ui/fuse/fuse_actions.h"
#include "ui/fuse/region_words.h"
#include "ui/models/finding_model.h"
#include "ui/panels/finding_card.h"
#include "ui/timeline/timeline_canvas.h"
#include "ui/timeline/timeline_panel.h"

#include <QMenu>

#include <vector>

namespace fusescope {

class RegionTest : public QObject, FuseFixture {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(open()); }
    void cleanupTestCase() { close(); }
    void init() { begin(); }
    void cleanup() { end(); }

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
        const Finding& swiglu = analysis().findings[rowOf("swiglu")];
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
        // A path that has no room loses its beginning, not its middle.
        QVERIFY(QTest::qWaitFor([&] { return fuseThis()->width() > 0; }));
        fuseThis()->resize(fuseThis()->fontMetrics().horizontalAdvance(fuseThis()->accessibleName()) - 20,
                           fuseThis()->height());
        QCOMPARE(fuseThis()->text(), QStringLiteral("Measure layers.0"));
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
};

} // namespace fusescope

QTEST_MAIN(fusescope::RegionTest)
#include "region_test.moc"
