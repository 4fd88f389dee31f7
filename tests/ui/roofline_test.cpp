// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/draw/roofline_draw.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "ui/base/empty_note.h"
#include "ui/roofline/roofline_moves.h"
#include "ui/roofline/roofline_panel.h"
#include "ui/roofline/roofline_scene.h"
#include "ui/roofline/roofline_view.h"

#include <QChart>
#include <QGraphicsScene>
#include <QLabel>
#include <QLineSeries>
#include <QTest>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

using namespace fusescope;

namespace {

RooflineMarksItem* marksOf(RooflineView* view) {
    for (QGraphicsItem* item : view->chart()->childItems())
        if (auto* marks = dynamic_cast<RooflineMarksItem*>(item)) return marks;
    return nullptr;
}
void wheel(RooflineView* view, QPointF at, int turned) {
    QWheelEvent event(at, view->viewport()->mapToGlobal(at), {}, {0, turned}, Qt::NoButton, Qt::NoModifier,
                      Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(view->viewport(), &event);
}

} // namespace

class RooflineTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init();
    void cleanup() { panel_.reset(); }
    void labelsOfDecades();
    void emptyState();
    void textsHaveRoomAtTheSmallestWidth();
    void marksStandWhereTheirFiguresSay();
    void clickPicksTheOperator();
    void smallMarksLieOnTop();
    void wheelZoomsAtTheCursor();
    void dragPansAndDoubleClickResets();
    void roofsMeetAtTheRidge();
    void tooltipTellsTheFigures();
    void measuredFindingsAreArrowsToReach();
    void wordsKeepOffWhatIsThere();
    void wordsOfAnArrowCoverNoChosenMark();
    void oddNumbersAreLeftOut();
    void keepsUpWithManyRows();

private:
    std::unique_ptr<Session> session_;
    std::unique_ptr<RooflinePanel> panel_;
    RooflineView* view_ = nullptr;
    RooflineMarksItem* marks_ = nullptr;
    AnalysisPtr analysis_;

    QPointF placeOf(const RooflineMark& mark) const {
        return view_->chart()->mapToPosition(mark.value, view_->chart()->series().front());
    }
    void use(AnalysisPtr analysis) {
        analysis_ = std::move(analysis);
        session_->setAnalysis(analysis_);
        panel_->resize(640, 480);
        panel_->show();
        QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
        view_ = panel_->findChild<RooflineView*>();
        marks_ = marksOf(view_);
        QVERIFY(marks_ != nullptr);
    }
};

void RooflineTest::init() {
    session_ = std::make_unique<Session>();
    panel_ = std::make_unique<RooflinePanel>(session_.get());
}

void RooflineTest::labelsOfDecades() {
    QCOMPARE(rateLabel(1e12), QStringLiteral("1 TFLOP/s"));
    QCOMPARE(rateLabel(1e11), QStringLiteral("100 GFLOP/s"));
    QCOMPARE(rateLabel(5e15), QStringLiteral("5 PFLOP/s"));
    QCOMPARE(rateLabel(0), QString());
    QCOMPARE(intensityLabel(0.1), QStringLiteral("0.1"));
    QCOMPARE(intensityLabel(1), QStringLiteral("1"));
    QCOMPARE(intensityLabel(1000), QStringLiteral("1k"));
    QCOMPARE(intensityLabel(10000), QStringLiteral("10k"));
}

void RooflineTest::emptyState() {
    panel_->show();
    QVERIFY(panel_->findChild<EmptyNote*>()->isVisible());
    session_->setAnalysis(testing::syntheticAnalysis({.trace = false}));
    QVERIFY(panel_->findChild<EmptyNote*>()->isVisible());
    session_->setAnalysis(testing::syntheticAnalysis());
    QVERIFY(!panel_->findChild<EmptyNote*>()->isVisible());
    session_->setAnalysis(nullptr);
    QVERIFY(panel_->findChild<EmptyNote*>()->isVisible());
}

void RooflineTest::textsHaveRoomAtTheSmallestWidth() {
    use(testing::syntheticAnalysis());
    panel_->resize(288, 420);
    QApplication::processEvents();
    int seen = 0;
    for (const QLabel* label : panel_->findChildren<QLabel*>()) {
        if (label->text().isEmpty() || !label->isVisible()) continue;
        ++seen;
        QVERIFY2(label->height() >= label->heightForWidth(label->width()), qPrintable(label->text()));
        QVERIFY2(!label->text().contains(QLatin1String("1 operators")), qPrintable(label->text()));
    }
    QVERIFY(seen >= 2);
}

void RooflineTest::marksStandWhereTheirFiguresSay() {
    use(testing::syntheticAnalysis());
    QCOMPARE(marks_->marks().size(), plottableOps(*analysis_).size());
    const QRectF plot = view_->chart()->plotArea(), range = view_->range();
    for (const RooflineMark& mark : marks_->marks()) {
        const OpSummary& op = analysis_->ops[mark.row];
        const QPointF at = placeOf(mark);
        const double x = plot.left() + (std::log10(op.intensity()) - range.left()) / range.width() * plot.width();
        const double y =
            plot.bottom() - (std::log10(op.achievedFlops()) - range.top()) / range.height() * plot.height();
        QVERIFY2(std::abs(at.x() - x) < 1 && std::abs(at.y() - y) < 1, op.op.c_str());
        QCOMPARE(mark.radius, markRadius(*analysis_, mark.row));
        const std::vector<std::uint32_t> below = opsBelowAxes(*analysis_);
        QCOMPARE(plot.contains(at), !std::binary_search(below.begin(), below.end(), mark.row));
    }
}

void RooflineTest::clickPicksTheOperator() {
    use(testing::syntheticAnalysis());
    const RooflineMark& mark = marks_->marks().front();
    const QPointF at = placeOf(mark);
    const int hit = marks_->markAt(at);
    QVERIFY(hit >= 0);
    QTest::mouseClick(view_->viewport(), Qt::LeftButton, Qt::NoModifier, at.toPoint());
    QCOMPARE(session_->selection().pick.kind, PickKind::Op);
    QCOMPARE(session_->selection().pick.id,
             marks_->marks()[static_cast<std::size_t>(marks_->markAt(at.toPoint()))].row);
    // A click beside every mark lets go.
    const QPointF corner = view_->chart()->plotArea().topLeft() + QPointF(3, 3);
    QCOMPARE(marks_->markAt(corner), -1);
    QTest::mouseClick(view_->viewport(), Qt::LeftButton, Qt::NoModifier, corner.toPoint());
    QCOMPARE(session_->selection().pick.kind, PickKind::None);
    QCOMPARE(marks_->markAt({0, 0}), -1);
}

void RooflineTest::smallMarksLieOnTop() {
    Analysis value = testing::syntheticAnalysisValue();
    value.ops[1] = value.ops[0];
    value.ops[1].time_ns /= 50;
    value.ops[1].cost.flops /= 50; // the same rate and intensity: the same place
    value.ops[1].cost.bytes_read /= 50;
    value.ops[1].cost.bytes_written /= 50;
    use(std::make_shared<const Analysis>(std::move(value)));
    for (const RooflineMark& mark : marks_->marks())
        if (mark.row == 1) {
            const int hit = marks_->markAt(placeOf(mark));
            QVERIFY(hit >= 0);
            QVERIFY(marks_->marks()[static_cast<std::size_t>(hit)].row != 0);
        }
}

void RooflineTest::wheelZoomsAtTheCursor() {
    use(testing::syntheticAnalysis());
    const QRectF before = view_->range(), plot = view_->chart()->plotArea();
    const QPointF at(std::round(plot.left() + plot.width() * 0.25), std::round(plot.top() + plot.height() * 0.25));
    QAbstractSeries* series = view_->chart()->series().front();
    const QPointF under = view_->chart()->mapToValue(at, series);
    wheel(view_, at, 240);
    QVERIFY(view_->zoomed());
    QVERIFY(view_->range().width() < before.width());
    const QPointF now = view_->chart()->mapToValue(at, series);
    QVERIFY(std::abs(now.x() - under.x()) < 0.02 && std::abs(now.y() - under.y()) < 0.02);
    for (int i = 0; i < 100; ++i) wheel(view_, at, 480);
    QVERIFY(view_->range().width() > 0.2);
    for (int i = 0; i < 100; ++i) wheel(view_, at, -480);
    QVERIFY(view_->range().width() <= before.width() + 2.001);
    panel_->resetZoom();
    QCOMPARE(view_->range(), before);
    QVERIFY(!panel_->grab().isNull());
}

void RooflineTest::dragPansAndDoubleClickResets() {
    use(testing::syntheticAnalysis());
    const QRectF before = view_->range();
    const QPoint from = view_->chart()->plotArea().center().toPoint(), to = from + QPoint(60, 0);
    QTest::mousePress(view_->viewport(), Qt::LeftButton, Qt::NoModifier, from);
    QTest::mouseMove(view_->viewport(), to);
    QMouseEvent move(QEvent::MouseMove, to, view_->viewport()->mapToGlobal(to), Qt::NoButton, Qt::LeftButton,
                     Qt::NoModifier);
    QCoreApplication::sendEvent(view_->viewport(), &move);
    QTest::mouseRelease(view_->viewport(), Qt::LeftButton, Qt::NoModifier, to);
    QVERIFY(view_->range().left() < before.left());
    QCOMPARE(session_->selection().pick.kind, PickKind::None); // a drag is no click
    QTest::mouseDClick(view_->viewport(), Qt::LeftButton, Qt::NoModifier, from);
    QCOMPARE(view_->range(), before);
}

void RooflineTest::roofsMeetAtTheRidge() {
    use(testing::syntheticAnalysis());
    const DeviceSpec& device = analysis_->device;
    const QPointF ridge(std::log10(device.ridge()), std::log10(device.bf16_tensor));
    int touching = 0;
    for (QAbstractSeries* series : view_->chart()->series())
        for (const QPointF& point : qobject_cast<QLineSeries*>(series)->points())
            if (std::abs(point.x() - ridge.x()) < 1e-9 && std::abs(point.y() - ridge.y()) < 1e-9) ++touching;
    QVERIFY(touching >= 3); // memory roof, compute roof, drop line
}

void RooflineTest::tooltipTellsTheFigures() {
    const AnalysisPtr analysis = testing::syntheticAnalysis({.name_suffix = "<i>"});
    const QString tip = markTip(*analysis, 0);
    for (const char* word : {"FLOP/byte", "FLOP/s", "B/s", "%", "&lt;i&gt;"})
        QVERIFY2(tip.contains(QLatin1String(word)), word);
    QVERIFY(markTip(*analysis, 100000).isEmpty());
}

void RooflineTest::measuredFindingsAreArrowsToReach() {
    Analysis made = testing::syntheticAnalysisValue();
    for (const std::size_t f : {0U, 1U})
        for (Instance& i : made.findings[f].instances) {
            i.forward_ns = 100'000 * (1.0 + static_cast<double>(f));
            i.backward_ns = 0;
            i.now.flops = 200e6;
            i.now.bytes_read = 400e6;
            i.fused.flops = 200e6;
            i.fused.bytes_read = 100e6;
        }
    use(std::make_shared<const Analysis>(std::move(made)));
    MeasuredSet set = testing::measuredAs(*analysis_, 0, 0.25);
    const MeasuredSet second = testing::measuredAs(*analysis_, 1, 0.5);
    for (const auto& [key, result] : second.results()) set.set(result);
    session_->setMeasured(set);
    RooflineMovesItem* moves = nullptr;
    for (QGraphicsItem* item : view_->chart()->childItems())
        if (moves == nullptr) moves = dynamic_cast<RooflineMovesItem*>(item);
    QVERIFY(moves != nullptr);
    QCOMPARE(moves->moves().size(), std::size_t{2});
    // 200 MFLOP over 400 MB in 100 us, and over 100 MB in 25.
    const QString tip = moveTip(*analysis_, moves->moves()[0]);
    for (const char* words : {"2.00 TFLOP/s", "4.00 TB/s", "0.5", "100 µs", "8.00 TFLOP/s", "25.0 µs"})
        QVERIFY2(tip.contains(QString::fromUtf8(words)), qPrintable(tip));
    QCOMPARE(moves->moveAt(moves->endOf(0)), 0);
    QCOMPARE(moves->moveAt(view_->chart()->plotArea().topLeft() + QPointF(3, 3)), -1);
    // The mouse.
    const QPointF scene = view_->chart()->mapToScene(moves->endOf(1));
    QTest::mouseClick(view_->viewport(), Qt::LeftButton, {}, view_->mapFromScene(scene));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, moves->moves()[1].finding}));
    // Keys: the next after the last is the first, and back.
    QTest::keyClick(view_, Qt::Key_M);
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, moves->moves()[0].finding}));
    QVERIFY(view_->accessibleDescription().contains(QString::fromUtf8("8.00 TFLOP/s")));
    QTest::keyClick(view_, Qt::Key_M, Qt::ShiftModifier);
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, moves->moves()[1].finding}));
    session_->setMeasured({});
    QTest::keyClick(view_, Qt::Key_M); // nothing to go to
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 1}));
}

void RooflineTest::wordsKeepOffWhatIsThere() {
    const QRectF area(0, 0, 400, 300), mark(100, 100, 10, 10);
    const QSizeF words(80, 16);
    const QRectF right = placeBeside(mark, words, area, {});
    QVERIFY(right.left() > mark.right() && right.left() < mark.right() + 10);
    QCOMPARE(right.center().y(), mark.center().y());
    const QRectF other = placeBeside(mark, words, area, {right});
    QVERIFY(!other.intersects(right) && !other.intersects(mark));
    // At the right border it neither leaves the area nor covers its mark.
    const QRectF last(385, 100, 10, 10), beside = placeBeside(last, words, area, {last});
    QVERIFY(area.contains(beside) && !beside.intersects(last));
    // No room at all: still within the area.
    QVERIFY(area.contains(placeBeside(mark, words, area, {area})));
}

void RooflineTest::wordsOfAnArrowCoverNoChosenMark() {
    Analysis made = testing::syntheticAnalysisValue();
    std::uint32_t op = plottableOps(made).front(); // the fused form ends exactly right below this mark
    const double ai = made.ops[op].intensity(), rate = made.ops[op].achievedFlops();
    for (Instance& i : made.findings[0].instances) {
        i.forward_ns = 100'000;
        i.backward_ns = 0;
        i.now.flops = 0.25 * rate * 1e-4;
        i.now.bytes_read = 4 * i.now.flops / ai;
        i.fused.flops = i.now.flops;
        i.fused.bytes_read = i.now.flops / (ai / 2); // left of it, at its height: words to the right would cover it
    }
    use(std::make_shared<const Analysis>(std::move(made)));
    session_->setMeasured(testing::measuredAs(*analysis_, 0, 0.25));
    session_->pick({PickKind::Finding, 0});
    QVERIFY(!panel_->grab().isNull());
    RooflineMovesItem* moves = nullptr;
    for (QGraphicsItem* item : view_->chart()->childItems())
        if (moves == nullptr) moves = dynamic_cast<RooflineMovesItem*>(item);
    QVERIFY(moves != nullptr);
    const auto labels = moves->labels();
    QCOMPARE(labels.size(), std::size_t{1});
    for (const QRectF& taken : marks_->occupied()) {
        // Each corner of a circle's square is empty: (1 - pi / 4) / 4 of it. How wide the words are is up to the font.
        const QRectF both = taken & labels[0].second;
        QVERIFY(both.width() * both.height() < 0.05 * taken.width() * taken.height());
        const QRectF mark = moves->chosenMarks().front(); // which is taken itself; no words lie under it
        QVERIFY(taken == mark || !taken.intersects(mark));
    }
    session_->clear();
    QVERIFY(moves->labels().empty());
}

void RooflineTest::oddNumbersAreLeftOut() {
    Analysis value = testing::syntheticAnalysisValue();
    const std::size_t before = plottableOps(value).size();
    value.ops[plottableOps(value).front()].cost.flops = std::nan("");
    value.device = {};
    use(std::make_shared<const Analysis>(std::move(value)));
    QCOMPARE(marks_->marks().size(), before - 1);
    QVERIFY(!panel_->grab().isNull());
}

void RooflineTest::keepsUpWithManyRows() {
    Analysis value = testing::syntheticAnalysisValue();
    const std::vector<OpSummary> few = value.ops;
    while (value.ops.size() < 5000) {
        OpSummary op = few[value.ops.size() % few.size()];
        op.cost.flops *= 1 + static_cast<double>(value.ops.size() % 97) / 10;
        op.kernels.clear();
        value.ops.push_back(std::move(op));
    }
    use(std::make_shared<const Analysis>(std::move(value)));
    QElapsedTimer timer;
    timer.start();
    QVERIFY(!panel_->grab().isNull());
    QVERIFY2(timer.elapsed() < 1000, "painting must not depend on the number of rows much");
}

QTEST_MAIN(RooflineTest)
#include "roofline_test.moc"
