// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include "core/measured/after.h"
#include "core/trace/trace_builder.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "ui/base/legend.h"
#include "ui/base/paint.h"
#include "ui/timeline/slice_tip.h"
#include "ui/timeline/timeline_canvas.h"
#include "ui/timeline/timeline_state.h"
#include "ui/timeline/timeline_strips.h"

#include <QAction>
#include <QElapsedTimer>
#include <QSignalSpy>
#include <QWheelEvent>
#include <QtTest>

#include <algorithm>
#include <memory>

using namespace fusescope;

namespace {

struct Shown {
    Session session;
    std::unique_ptr<TimelinePanel> panel = std::make_unique<TimelinePanel>(&session);
    explicit Shown(AnalysisPtr analysis = testing::syntheticAnalysis()) {
        panel->resize(1200, 320);
        panel->show();
        session.setAnalysis(std::move(analysis));
        QApplication::processEvents();
    }
    [[nodiscard]] TimelineCanvas* canvas() const { return panel->findChild<TimelineCanvas*>(); }
    [[nodiscard]] std::int64_t span() const { return panel->range().second - panel->range().first; }
};

// The middle of the first box that picks a kernel.
QPoint kernelIn(const DrawList& list) {
    for (const DrawRect& r : list.rects)
        if (r.pick.kind == PickKind::Kernel && r.width > 8)
            return QPointF(r.x + r.width / 2, r.y + r.height / 2).toPoint();
    return {-1, -1};
}

void wheel(QWidget* widget, QPoint at, QPoint angle, Qt::KeyboardModifiers keys) {
    QWheelEvent event(at, widget->mapToGlobal(at), {}, angle, Qt::NoButton, keys, Qt::NoScrollPhase, false);
    QApplication::sendEvent(widget, &event);
}

} // namespace

class TimelineTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void theGpuOfTheChosenRankIsInSight() { // of twelve in one file, too many for the panel
        TraceBuilder builder;
        for (std::int64_t pid = 100; pid < 112; ++pid) {
            const auto id = static_cast<std::uint32_t>(pid);
            const TrackId cpu = builder.track(TrackKind::CpuThread, pid, 1),
                          gpu = builder.track(TrackKind::GpuStream, pid - 100, 7, static_cast<std::int32_t>(pid - 100),
                                              7);
            builder.add({Category::UserAnnotation, "ProfilerStep#1", pid, 100'000, cpu, 0, 0, 0, 0});
            builder.add({Category::CudaRuntime, "cudaLaunchKernel", pid + 10, 100, cpu, id, 0, 0, 0});
            builder.add({Category::Kernel, "k", pid + 200, 90'000, gpu, id, 0, 0, 0}, KernelDetail{});
        }
        auto trace = std::move(builder).finish();
        QVERIFY(trace.ok());
        auto a = std::make_shared<Analysis>();
        a->trace = *trace;
        a->index = std::make_shared<const SliceIndex>(**trace);
        a->steps.resize(a->trace->steps.size());
        a->step = 3;
        Session session;
        TimelineState state(&session);
        state.setViewport(1200, 120);
        session.setAnalysis(a);
        state.load();
        int seen = 0;
        for (const TimelineRow& row : state.layout().rows) {
            if (!row.gpu || a->trace->tracks[row.track.index()].process != 103) continue;
            ++seen;
            QVERIFY(row.y >= state.scroll() && row.y + row.height <= state.scroll() + 120);
        }
        QCOMPARE(seen, 1);
    }

    void emptyStateIsPainted() {
        Session session;
        TimelinePanel panel(&session);
        panel.resize(900, 300);
        panel.show();
        const QImage image = panel.grab().toImage();
        int inked = 0;
        for (int x = 0; x < image.width(); x += 2)
            for (int y = 0; y < image.height(); y += 2)
                inked += image.pixelColor(x, y) != qColor(ColourRole::Background, Theme::Light) ? 1 : 0;
        QVERIFY(inked > 100);   // words
        panel.setRange(0, 100); // nothing to do, and nothing happens
        panel.showStep();
        panel.showAll();
        panel.zoomToSelection();
        QTest::keyClick(panel.findChild<TimelineCanvas*>(), Qt::Key_W);
    }

    void graphOnlyIsEmptyToo() {
        testing::SyntheticOptions options;
        options.trace = false;
        const Shown s(testing::syntheticAnalysis(options));
        QVERIFY(!s.canvas()->isVisible());
        s.panel->grab();
    }

    void opensOnTheStep() {
        const Shown s;
        const StepStats& step = s.session.analysis()->steps[static_cast<std::size_t>(s.session.analysis()->step)];
        QVERIFY(s.panel->range().first <= step.begin);
        QVERIFY(s.panel->range().second >= std::min(step.end, s.session.analysis()->trace->end));
        bool gpu = false;
        for (const DrawRect& r : s.canvas()->picture().rects) gpu = gpu || r.pick.kind == PickKind::Kernel;
        QVERIFY(gpu); // the GPU's rows are in sight
    }

    void laterWorkMovesUpOnceMeasured() {
        Shown s;
        QAction* toggle = s.panel->afterAction();
        QVERIFY(!toggle->isEnabled());
        const auto says = [&](const QString& words) {
            for (const DrawText& t : s.canvas()->picture().texts)
                if (text(t.text).contains(words)) return true;
            return false;
        };
        QVERIFY(!says(QStringLiteral(" saved")));
        s.session.setMeasured(testing::measuredAs(*s.session.analysis(), 0, 0.25));
        QVERIFY(toggle->isEnabled());
        QVERIFY(toggle->isChecked()); // shown from the first result on
        QVERIFY(toggle->toolTip().contains(QStringLiteral("step ")));
        QVERIFY(says(QStringLiteral(" saved")));
        QVERIFY(s.panel->findChild<LegendStrip*>()->accessibleName().contains(QStringLiteral("fused, as measured")));
        toggle->setChecked(false);
        QVERIFY(!says(QStringLiteral(" saved")));
        const std::vector<DrawRect>& rects = s.canvas()->picture().rects;
        QVERIFY(std::any_of(rects.begin(), rects.end(),
                            [](const DrawRect& r) { return r.dashed && r.filled; })); // its ghost
        // Whoever wants it as recorded keeps it so when the next result comes.
        s.session.setMeasured(testing::measuredAs(*s.session.analysis(), 0, 0.2));
        QVERIFY(!toggle->isChecked());
        toggle->setChecked(true);
        s.session.setMeasured({}); // undone
        QVERIFY(!toggle->isEnabled());
        QVERIFY(!says(QStringLiteral(" saved")));
    }

    void selectingFindsWhatMoved() {
        Shown s;
        s.session.setMeasured(testing::measuredAs(*s.session.analysis(), 0, 0.25));
        const Analysis& a = *s.session.analysis();
        const SliceTable& slices = a.trace->slices;
        // The last kernel of the step has moved furthest; zooming to it shows it.
        KernelId last;
        for (std::size_t k = 0; k < a.trace->kernels.size(); ++k)
            if (slices.step[a.trace->kernels.slice[k].index()] == a.step) last = KernelId(k);
        s.session.pick({PickKind::Kernel, last.value});
        s.panel->zoomToSelection();
        const std::int64_t recorded = slices.ts[a.trace->kernels.slice[last.index()].index()];
        QVERIFY(s.panel->range().second < recorded);
        const auto drawn = [&] {
            for (const DrawRect& r : s.canvas()->picture().rects)
                if (r.pick == Pick{PickKind::Kernel, last.value} && r.emphasis == Emphasis::Selected)
                    return QPointF(r.x + r.width / 2, r.y + r.height / 2).toPoint();
            return QPoint(-1, -1);
        }();
        QVERIFY(drawn.x() > 0 && drawn.x() < s.canvas()->width());
        s.session.clear();
        QTest::mouseClick(s.canvas(), Qt::LeftButton, {}, drawn);
        QCOMPARE(s.session.selection().pick, (Pick{PickKind::Kernel, last.value}));
    }

    void tooltipsTellBothTimes() {
        const AnalysisPtr a = testing::syntheticAnalysis();
        const auto after = timelineAfter(*a, testing::measuredAs(*a, 0, 0.25), {});
        QVERIFY(after.has_value());
        SliceId last;
        for (const SliceId slice : a->trace->kernels.slice)
            if (a->trace->slices.step[slice.index()] == a->step) last = slice;
        QVERIFY(!sliceTip(*a, last).contains(QStringLiteral("recorded at")));
        QVERIFY(sliceTip(*a, last, &*after).contains(QStringLiteral("recorded at")));
        const QString fused = sliceTip(*a, after->removed.front(), &*after);
        QVERIFY(fused.contains(QStringLiteral(", fused")));
        QVERIFY(fused.contains(QStringLiteral("measured alone")));
        // Over the whole step: as busy as before less what was saved, to the rounding of each place.
        const StepStats& step = a->steps[static_cast<std::size_t>(a->step)];
        const RangeFacts before = factsOfRange(*a, step.begin, step.end),
                         now = factsOfRange(*a, step.begin, step.end, &*after);
        QVERIFY(std::abs(before.busy_ns - now.busy_ns - after->measured_ns) < 0.01 * after->measured_ns);
        QCOMPARE(before.kernels - now.kernels, after->removed.size() - after->places.size());
    }

    void keysMoveAndZoom() {
        const Shown s;
        QSignalSpy changes(s.panel.get(), &TimelinePanel::rangeChanged);
        const std::int64_t before = s.span();
        QTest::keyClick(s.canvas(), Qt::Key_W);
        QVERIFY(s.span() < before);
        const auto zoomed = s.panel->range();
        QTest::keyClick(s.canvas(), Qt::Key_D);
        QVERIFY(s.panel->range().first > zoomed.first);
        QTest::keyClick(s.canvas(), Qt::Key_A);
        QVERIFY(std::abs(s.panel->range().first - zoomed.first) <= 2);
        QTest::keyClick(s.canvas(), Qt::Key_S);
        QVERIFY(s.span() > zoomed.second - zoomed.first);
        QVERIFY(changes.count() >= 4);
    }

    void wheelZoomsAtTheMouse() {
        const Shown s;
        const QPoint at(300, 40);
        const auto timeAt = [&] {
            return static_cast<double>(s.panel->range().first) +
                   static_cast<double>(s.span()) * at.x() / s.canvas()->width();
        };
        const double before = timeAt();
        wheel(s.canvas(), at, {0, 120}, Qt::ControlModifier);
        QVERIFY(std::abs(timeAt() - before) < static_cast<double>(s.span()) * 0.001 + 2);
        const auto range = s.panel->range();
        wheel(s.canvas(), at, {0, -120}, Qt::ShiftModifier);
        QVERIFY(s.panel->range().first > range.first);
        const auto panned = s.panel->range();
        wheel(s.canvas(), at, {0, -120}, Qt::NoModifier); // rows only
        QCOMPARE(s.panel->range(), panned);
    }

    void rangeIsClamped() {
        const Shown s;
        const TraceStore& trace = *s.session.analysis()->trace;
        s.panel->setRange(INT64_MIN / 2, INT64_MAX / 2);
        QCOMPARE(s.panel->range(), std::pair(trace.begin, trace.end));
        s.panel->setRange(trace.begin + 100, trace.begin + 100);
        QVERIFY(s.span() > 0);
        s.panel->setRange(trace.end + 1000, trace.end + 2000);
        QVERIFY(s.panel->range().second <= trace.end);
        for (int i = 0; i < 200; ++i) QTest::keyClick(s.canvas(), Qt::Key_W);
        QVERIFY(s.span() >= 1);
        for (int i = 0; i < 200; ++i) QTest::keyClick(s.canvas(), Qt::Key_S);
        QCOMPARE(s.panel->range(), std::pair(trace.begin, trace.end));
        for (int i = 0; i < 20; ++i) QTest::keyClick(s.canvas(), Qt::Key_D);
        QCOMPARE(s.panel->range(), std::pair(trace.begin, trace.end));
    }

    void clickSelectsAKernel() {
        Shown s;
        const QPoint at = kernelIn(s.canvas()->picture());
        QVERIFY(at.x() >= 0);
        QTest::mouseClick(s.canvas(), Qt::LeftButton, {}, at);
        QCOMPARE(s.session.selection().pick.kind, PickKind::Kernel);
        QVERIFY(s.session.selection().slice.valid() || !s.session.selection().kernels.empty());
        const QImage selected = s.canvas()->grab().toImage();
        QTest::mouseClick(s.canvas(), Qt::LeftButton, {}, QPoint(s.canvas()->width() - 2, s.canvas()->height() - 2));
        QCOMPARE(s.session.selection().pick.kind, PickKind::None);
        QVERIFY(s.canvas()->grab().toImage() != selected);
    }

    void doubleClickZoomsToIt() {
        const Shown s;
        const QPoint at = kernelIn(s.canvas()->picture());
        const std::int64_t before = s.span();
        QTest::mouseDClick(s.canvas(), Qt::LeftButton, {}, at);
        QVERIFY(s.span() < before);
    }

    void dragPans() {
        const Shown s;
        QTest::keyClick(s.canvas(), Qt::Key_W);
        QTest::keyClick(s.canvas(), Qt::Key_W);
        const auto before = s.panel->range();
        QTest::mousePress(s.canvas(), Qt::LeftButton, {}, {600, 50});
        QTest::mouseMove(s.canvas(), {550, 50});
        QTest::mouseMove(s.canvas(), {400, 50});
        QTest::mouseRelease(s.canvas(), Qt::LeftButton, {}, {400, 50});
        QVERIFY(s.panel->range().first > before.first);
        QCOMPARE(s.session.selection().pick.kind, PickKind::None); // a drag is no click
    }

    void shiftDragMarksARange() {
        const Shown s;
        const QImage before = s.canvas()->grab().toImage();
        const auto range = s.panel->range();
        QTest::mousePress(s.canvas(), Qt::LeftButton, Qt::ShiftModifier, {300, 50});
        QTest::mouseMove(s.canvas(), {500, 50});
        QTest::mouseRelease(s.canvas(), Qt::LeftButton, Qt::ShiftModifier, {500, 50});
        QCOMPARE(s.panel->range(), range);
        QVERIFY(s.canvas()->grab().toImage() != before);
        QTest::keyClick(s.canvas(), Qt::Key_Escape);
    }

    void factsOfARange() {
        const AnalysisPtr a = testing::syntheticAnalysis();
        const RangeFacts all = factsOfRange(*a, a->trace->begin, a->trace->end);
        QCOMPARE(all.kernels, a->trace->kernels.size());
        QVERIFY(all.busy_ns > 0 && all.busy_ns <= all.span_ns);
        QCOMPARE(factsOfRange(*a, 10, 10).kernels, std::size_t{0});
    }

    void followsTheSelection() {
        Shown s;
        const TraceStore& trace = *s.session.analysis()->trace;
        s.panel->setRange(trace.begin, trace.begin + (trace.end - trace.begin) / 50);
        const std::int64_t span = s.span();
        const auto last = static_cast<std::uint32_t>(trace.kernels.size() - 1);
        s.session.pick({PickKind::Kernel, last});
        const SliceId slice = trace.kernels.slice[last];
        QVERIFY(s.panel->range().first <= trace.slices.ts[slice.index()]);
        QVERIFY(s.panel->range().second >= trace.endOf(slice));
        QVERIFY(std::abs(s.span() - span) <= span / 2 || trace.slices.dur[slice.index()] > span / 2); // the zoom stays
        s.panel->zoomToSelection();
        QVERIFY(s.span() <= trace.slices.dur[slice.index()] * 2 + 200);
    }

    void aLabelFoldsItsRow() {
        const Shown s;
        auto* labels = s.panel->findChild<LabelColumn*>();
        const std::size_t before = s.canvas()->picture().rects.size();
        QTest::mouseClick(labels, Qt::LeftButton, {}, {30, 8});
        QVERIFY(s.canvas()->picture().rects.size() != before);
        QTest::mouseClick(labels, Qt::LeftButton, {}, {30, 8});
        QCOMPARE(s.canvas()->picture().rects.size(), before);
    }

    void theMinimapMovesTheView() {
        const Shown s;
        auto* map = s.panel->findChild<MinimapStrip*>();
        for (int i = 0; i < 4; ++i) QTest::keyClick(s.canvas(), Qt::Key_W);
        QTest::mouseClick(map, Qt::LeftButton, {}, {20, 10});
        const auto left = s.panel->range();
        QTest::mouseClick(map, Qt::LeftButton, {}, {map->width() - 20, 10});
        QVERIFY(s.panel->range().first > left.first);
    }

    void tellsAboutASlice() {
        const AnalysisPtr a = testing::syntheticAnalysis();
        const QString tip = sliceTip(*a, a->trace->kernels.slice[3]);
        QVERIFY(tip.contains(QLatin1String("Duration")));
        QVERIFY(tip.contains(QLatin1String("Grid")));
        QVERIFY(sliceTip(*a, {}).isEmpty());
        testing::SyntheticOptions options;
        options.name_suffix = "<script>&\xff";
        const AnalysisPtr hostile = testing::syntheticAnalysis(options);
        for (std::size_t i = 0; i < hostile->trace->slices.size(); ++i)
            QVERIFY(!sliceTip(*hostile, SliceId(i)).contains(QLatin1String("<script")));
    }

    void aKernelsTipBeginsWithItsShortName() {
        const AnalysisPtr a = testing::syntheticAnalysis();
        int templates = 0;
        for (const SliceId slice : a->trace->kernels.slice) {
            const std::string name(a->trace->nameOf(slice));
            if (name.rfind("void ", 0) != 0) continue;
            ++templates;
            const QString tip = sliceTip(*a, slice),
                          title = tip.section(QLatin1String("<b>"), 1).section(QLatin1String("</b>"), 0, 0);
            QVERIFY2(!title.startsWith(QLatin1String("void")) && !title.contains(QLatin1String("::")),
                     qPrintable(title));
            QVERIFY(tip.contains(QString::fromStdString(name).left(60).toHtmlEscaped())); // the whole one below it
        }
        QVERIFY(templates > 0);
    }

    void theLegendNamesEveryKindInSight() {
        const Shown s;
        const auto* legend = s.panel->findChild<LegendStrip*>();
        QVERIFY(legend && legend->isVisible());
        for (const KernelSummary& k : s.session.analysis()->kernels)
            QVERIFY(legend->accessibleName().contains(text(nameOf(k.kind))));
        QCOMPARE(kindsOf(*s.session.analysis()).entries.back().first, ColourRole::Flagged);
        QVERIFY(kindsOf({}).entries.empty());
        LegendCard card(&s.session);
        card.resize(card.sizeHint());
        QVERIFY(!card.grab().isNull());
    }

    void namesForScreenReaders() {
        const Shown s;
        for (QWidget* widget : {static_cast<QWidget*>(s.panel.get()), static_cast<QWidget*>(s.canvas()),
                                static_cast<QWidget*>(s.panel->findChild<MinimapStrip*>()),
                                static_cast<QWidget*>(s.panel->findChild<LabelColumn*>())})
            QVERIFY(!widget->accessibleName().isEmpty());
    }

    void aMillionSlicesStayQuick() {
        const Shown s(std::make_shared<Analysis>(testing::syntheticTimeline(1'000'000)));
        s.panel->showAll();
        s.panel->grab();
        QElapsedTimer clock;
        clock.start();
        for (int i = 0; i < 10; ++i) {
            QTest::keyClick(s.canvas(), i < 5 ? Qt::Key_W : Qt::Key_D);
            s.canvas()->grab();
        }
        qInfo() << "ms per frame" << static_cast<double>(clock.elapsed()) / 10.0;
        QVERIFY(clock.elapsed() < 5000); // a bound for slow machines; the budget is measured by the benchmarks
    }
};

QTEST_MAIN(TimelineTest)
#include "timeline_test.moc"
