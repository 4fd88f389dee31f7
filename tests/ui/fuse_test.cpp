// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring a finding in the window: buttons, progress, results, what goes wrong, undo.
#include "tests/ui/fuse_fixture.h"

#include "ui/base/paint.h"
#include "ui/fuse/fuse_actions.h"
#include "ui/fuse/fuse_words.h"
#include "ui/graph/graph_canvas.h"
#include "ui/models/finding_model.h"
#include "ui/models/roles.h"
#include "ui/panels/finding_card.h"
#include "ui/timeline/timeline_canvas.h"

#include <QMenu>
#include <QSignalSpy>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace fusescope {

class FuseTest : public QObject, FuseFixture {
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

    // As in the pictures: green is what is clearly faster, and a saving within the spread is no gain.
    void theCardsColourIsTheVerdicts() {
        queue().fuse(row_);
        answerAll(row_, 400, 48);
        QVERIFY(pixelsOnCard(ColourRole::Good) > 20);
        MeasuredSet wide;
        for (const auto& [key, result] : session().measured().results()) {
            MeasuredResult same = result;
            for (Comparison& c : same.result.directions) {
                c.baseline.us = {200, 150, 200, 20};
                c.fused.us = {150, 148, 160, 20};
            }
            wide.set(std::move(same));
        }
        session().setMeasured(std::move(wide));
        QVERIFY(applyMeasured(analysis(), analysis().findings[row_], session().measured()).saving_ns.expected > 0);
        QCOMPARE(pixelsOnCard(ColourRole::Good), 0);
        const QString spoken = list()->currentIndex().data(Qt::AccessibleTextRole).toString();
        for (const QString& words : {detail(), findings()->copyText(), spoken})
            QVERIFY2(words.contains(QLatin1String("no clear gain")), qPrintable(words));
    }

    // What was measured to save nothing is no longer outlined as worth fusing, until that is undone.
    void theOutlinesFollowTheMeasuredVerdict() {
        session().clear(); // what is selected is always outlined
        const auto marks = [this](const DrawList& list) {
            return std::count_if(list.rects.begin(), list.rects.end(), [this](const DrawRect& r) {
                const auto row = static_cast<std::uint32_t>(row_);
                return r.fill == ColourRole::Flagged &&
                       (r.pick == Pick{PickKind::Finding, row} ||
                        (r.pick.kind == PickKind::Instance && r.pick.id >> 16U == row));
            });
        };
        const auto inGraph = [&] { return marks(window_->findChild<GraphCanvas*>()->list()); };
        const auto inTimeline = [&] { return marks(window_->findChild<TimelineCanvas*>()->picture()); };
        const auto graph = inGraph(), timeline = inTimeline();
        QVERIFY(graph > 0 && timeline > 0);
        queue().fuse(row_);
        answerAll(row_, 400, 4000);
        QVERIFY(applyMeasured(analysis(), analysis().findings[row_], session().measured()).verdict ==
                Verdict::NotBeneficial);
        session().clear();
        QCOMPARE(inGraph(), 0);
        QCOMPARE(inTimeline(), 0);
        while (queue().undoStack()->canUndo()) queue().undoStack()->undo();
        session().clear();
        QCOMPARE(inGraph(), graph);
        QCOMPARE(inTimeline(), timeline);
    }

    void anUnsteadySpeedupSaysSoAndOverridesNothing() {
        const QString predicted = headline();
        queue().fuse(row_);
        answerAll(row_, 1330, 2);
        QVERIFY(detail().contains(QStringLiteral("665× faster")));
        const std::size_t steady = session().measured().results().size();
        MeasuredSet hasty;
        for (const auto& [key, result] : session().measured().results()) {
            MeasuredResult same = result;
            for (Comparison& c : same.result.directions) c.baseline.us.rounds = c.fused.us.rounds = 2;
            hasty.set(std::move(same));
        }
        QCOMPARE(hasty.results().size(), steady);
        session().setMeasured(std::move(hasty));
        QCOMPARE(headline(), predicted);
        QVERIFY(!detail().contains(QStringLiteral("665× faster")));
        for (const QString& words : {detail(), findings()->copyText()})
            QVERIFY2(words.contains(QStringLiteral("not certain (2 rounds)")) &&
                         words.contains(QStringLiteral("too few or differ too much")),
                     qPrintable(words));
        const MeasuredFinding* m = findings()->findChild<FindingModel*>()->measured(static_cast<int>(row_));
        QVERIFY(m != nullptr && !m->any());
        QCOMPARE(m->verdict, analysis().findings[row_].verdict);
        QVERIFY2(measuredLine(*m).contains(QStringLiteral("665× (2 rounds)")), qPrintable(measuredLine(*m)));
        QCOMPARE(measuredShortCaveat(*m), QStringLiteral("unsteady runs: measure again"));
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
    FuseJob::State state() { return queue().job(row_).state; }
    int pixelsOnCard(ColourRole role) { // close to its colour: text is smoothed
        constexpr int kClose = 40;
        const QImage card = list()->viewport()->grab(list()->visualRect(list()->currentIndex())).toImage();
        const QColor wanted = qColor(role, session().theme());
        int found = 0;
        for (int y = 0; y < card.height(); ++y)
            for (int x = 0; x < card.width(); ++x) {
                const QColor is = card.pixelColor(x, y);
                const int away = std::abs(is.red() - wanted.red()) + std::abs(is.green() - wanted.green()) +
                                 std::abs(is.blue() - wanted.blue());
                if (away < kClose) ++found;
            }
        return found;
    }
    int cardHeight() { return list()->visualRect(list()->currentIndex()).height(); }
    std::size_t row_ = 0;
};

} // namespace fusescope

QTEST_MAIN(fusescope::FuseTest)
#include "fuse_test.moc"
