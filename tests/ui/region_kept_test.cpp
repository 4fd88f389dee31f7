// SPDX-License-Identifier: GPL-3.0-or-later
// What becomes of regions of the user's own choice: in the step, in pictures, removed, with another step, in a session
// and after the window's end.
#include "tests/ui/fuse_fixture.h"

#include "app/kept_results.h"
#include "app/session_file.h"
#include "core/measured/after.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_words.h"
#include "ui/models/finding_model.h"
#include "ui/timeline/slice_tip.h"
#include "ui/timeline/timeline_panel.h"

#include <QSignalSpy>
#include <QTemporaryDir>

#include <cmath>

namespace fusescope {

class RegionKeptTest : public QObject, FuseFixture {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QVERIFY(open()); }
    void cleanupTestCase() { close(); }
    void init() { begin(); }
    void cleanup() { end(); }

    void whatIsBesideThePlanCounts() {
        // The lookup of the tokens is in no finding; as if a kernel made it in half the time.
        session().wantRegion({nodes({"cos", "mul"}), {}, {}});
        QVERIFY(chosen());
        QVERIFY2(session().regions().size() == 1, qPrintable(window_->banner().sentences().join(QLatin1Char(' '))));
        const ChosenRegion& region = *session().regions().front();
        const double own = region.work.instances.front().forward_ns;
        const double before = applyMeasured(analysis(), session().measured()).predicted_step_ns.expected;
        played_->answer(own / 1000, own / 2000);
        const MeasuredPlan plan = applyMeasured(analysis(), session().measured(), session().regions());
        QCOMPARE(plan.regions, std::size_t{1});
        QVERIFY(std::abs(plan.predicted_step_ns.expected - (before - own / 2)) < 1);
        QVERIFY2(headline().contains(QLatin1String("measured")), qPrintable(headline()));
        QVERIFY(detail().contains(QLatin1String("Counted in the step, beside the plan")));
        QVERIFY(measuredPlanText(analysis(), plan).contains(QLatin1String("and 1 region of yours")));
        queue().fuse(analysis().findings.size());
        played_->answer(own / 1000, own / 500);
        QVERIFY2(detail().contains(QLatin1String("as measured it saves nothing")), qPrintable(detail()));
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
        QVERIFY(prepared());
    }

    // While regions are made for another step the session still has those of the step before: saved are they once.
    void savedInTheMiddleOfAnotherStepTheyAreThereOnce() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        session().setAnalysis(std::make_shared<Analysis>(*session().analysis()));
        QVERIFY(queue().choosing());
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("mine.fusescope"));
        QSignalSpy written(window_.get(), &MainWindow::exported);
        window_->saveSession(path);
        QVERIFY(written.wait(kLoadMs));
        const Result<SessionFile> read = readSessionFile(path);
        QVERIFY(read.ok());
        QCOMPARE(read->regions.size(), std::size_t{1});
        QVERIFY(prepared() && chosen());
    }

    // One more could be saved and not be opened again.
    void aThousandAreAsManyAsASessionHolds() {
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        std::vector<ChosenPtr> many;
        for (int i = 1; i < 1000; ++i) {
            ChosenRegion one = *session().regions().front();
            one.id += "." + std::to_string(i);
            one.note = std::to_string(i);
            many.push_back(std::make_shared<const ChosenRegion>(std::move(one)));
        }
        session().addRegions(std::move(many));
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("mine.fusescope"));
        const auto saved = [&] {
            QSignalSpy written(window_.get(), &MainWindow::exported);
            window_->saveSession(path);
            return written.wait(kLoadMs) && written.front().back().toBool();
        };
        QVERIFY(saved());
        QCOMPARE(readSessionFile(path)->regions.size(), std::size_t{1000});
        QVERIFY(window_->banner().sentences().isEmpty());
        session().wantRegion({nodes({"silu", "linear_6"}), {}, {}});
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1000});
        QCOMPARE(window_->banner().sentences().size(), 1);
        QVERIFY(window_->banner().sentences().front().contains(QLatin1String("at most 1,000 regions")));
        // One that is there is no more; nor is one in the place of another, which then cannot come back.
        session().wantRegion({nodes({"mul_12", "add_8", "softmax"}), {}, {}});
        QVERIFY(chosen());
        QCOMPARE(window_->banner().sentences().size(), 1);
        queue().removeRegion(analysis().findings.size() + 500);
        session().wantRegion({nodes({"silu", "linear_6"}), {}, {}});
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1000});
        queue().undoStack()->undo();
        QVERIFY(chosen());
        QCOMPARE(session().regions().size(), std::size_t{1000});
        // However it came about: what could not be read is not written.
        ChosenRegion more = *session().regions().front();
        more.id += ".more";
        session().addRegions({std::make_shared<const ChosenRegion>(more)});
        QVERIFY(!saved());
        QCOMPARE(readSessionFile(path)->regions.size(), std::size_t{1000});
        window_->session().clear();
    }

    void whatASessionOfManyLacksRoomForIsSaid() {
        std::vector<ChosenRegion> saved(1001);
        for (std::size_t i = 0; i < saved.size(); ++i) saved[i].module = "nowhere." + std::to_string(i);
        queue().restoreRegions(std::move(saved));
        QVERIFY(!window_->banner().sentences().isEmpty());
        QVERIFY(window_->banner().sentences().front().startsWith(QLatin1String("1 of the regions")));
        QCOMPARE(queue().awaited().size(), std::size_t{1000});
        QVERIFY(chosen());
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
        QVERIFY(prepared());
    }

private:
    MeasuredSet some() {
        MeasuredResult one;
        one.finding = "of another";
        MeasuredSet set;
        set.set(one);
        return set;
    }
};

} // namespace fusescope

QTEST_MAIN(fusescope::RegionKeptTest)
#include "region_kept_test.moc"
