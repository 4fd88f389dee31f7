// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring many: the plan, its queue, all shapes of a finding.
#include "tests/ui/fuse_fixture.h"

#include "ui/fuse/fuse_words.h"

#include <algorithm>
#include <vector>

namespace fusescope {

class FusePlanTest : public QObject, FuseFixture {
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
        for (const Finding& f : analysis().findings) // by the names on their cards
            if (f.id == plan.left_out.front())
                QVERIFY2(tip.contains(QString::fromStdString(catalogEntry(f.pattern).title)), qPrintable(tip));
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

    // A finding of the plan counts as measured once one of its shapes is: that is not all of it yet.
    void aPlanMeasuredInPartSaysSo() {
        MeasuredPlan plan;
        plan.measured = plan.parts = 2;
        plan.predicted_step_ns = {1e6, 2e6, 3e6};
        QVERIFY(measuredPlanText(analysis(), plan).endsWith(QLatin1String(", measured")));
        plan.predicted_instances = 3;
        QVERIFY(measuredPlanText(analysis(), plan).endsWith(QLatin1String(", measured in part")));
        // Findings by the names on their cards.
        QVERIFY2(headlineTip().contains(QLatin1String("Residual add + RMSNorm")), qPrintable(headlineTip()));
    }

    // In a small window, too: what is to be done stands at the sentence's end.
    void whatWentWrongIsReadWhole() {
        const QSize before = window_->size();
        window_->resize(1280, 800);
        window_->resetLayout();
        session().pick({PickKind::Finding, static_cast<std::uint32_t>(row_)});
        queue().fuse(row_);
        played_->fail("no_runner");
        QCoreApplication::processEvents();
        const auto* note = bar()->findChild<QLabel*>();
        QVERIFY(note->isVisible() && note->text().contains(QLatin1String("ssh gpu-box")));
        const int needed = note->heightForWidth(note->width());
        QTRY_VERIFY2(note->visibleRegion().boundingRect().height() >= needed, qPrintable(QString::number(needed)));
        const QRect words(note->mapTo(findings(), QPoint(0, 0)), note->size());
        const auto* details = findings()->findChild<QTextBrowser*>();
        QVERIFY(!words.intersects({details->mapTo(findings(), QPoint(0, 0)), details->size()}));
        window_->resize(before);
        window_->resetLayout();
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

private:
    std::size_t row_ = 0;
};

} // namespace fusescope

QTEST_MAIN(fusescope::FusePlanTest)
#include "fuse_plan_test.moc"
