// SPDX-License-Identifier: GPL-3.0-or-later
// Files that are closed or exchanged in the middle of a drag or below an open menu; names that are long.
#include "app/banner.h"
#include "app/welcome.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "ui/graph/graph_canvas.h"
#include "ui/graph/graph_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/timeline/timeline_canvas.h"
#include "ui/timeline/timeline_panel.h"

#include <QContextMenuEvent>
#include <QMenu>
#include <QPushButton>
#include <QTimer>
#include <QtTest>

#include <algorithm>
#include <vector>

using namespace fusescope;

namespace {

// Opens the context menu there and lets the files go below it: whether a menu was open, and whether one still is.
struct Menu {
    bool opened = false, closed = false;
};
Menu closeFilesBelowMenu(Session& session, QWidget* widget, QPoint at) {
    Menu seen;
    QTimer::singleShot(50, widget, [&] {
        seen.opened = QApplication::activePopupWidget() != nullptr;
        session.setAnalysis(nullptr);
        seen.closed = QApplication::activePopupWidget() == nullptr;
        if (QWidget* menu = QApplication::activePopupWidget()) menu->close();
    });
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, widget->mapToGlobal(at));
    QApplication::sendEvent(widget, &event);
    QTest::qWait(60); // where no menu came
    return seen;
}

} // namespace

class ViewChangeTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void closedWhileARangeIsDragged() {
        Session session;
        TimelinePanel panel(&session);
        panel.resize(1200, 320);
        panel.show();
        session.setAnalysis(testing::syntheticAnalysis());
        QApplication::processEvents();
        auto* canvas = panel.findChild<TimelineCanvas*>();
        QTest::mousePress(canvas, Qt::LeftButton, Qt::ShiftModifier, {300, 60});
        QTest::mouseMove(canvas, {360, 60});
        session.setAnalysis(nullptr);
        QTest::mouseMove(canvas, {420, 60});
        QTest::mouseRelease(canvas, Qt::LeftButton, Qt::ShiftModifier, {420, 60});
        QCOMPARE(session.markedRange().first, session.markedRange().second);
        // Other files: what was begun on the ones before marks nothing on them.
        session.setAnalysis(testing::syntheticAnalysis());
        QTest::mousePress(canvas, Qt::LeftButton, Qt::ShiftModifier, {300, 60});
        session.setAnalysis(testing::syntheticAnalysis());
        QTest::mouseMove(canvas, {420, 60});
        QTest::mouseRelease(canvas, Qt::LeftButton, Qt::ShiftModifier, {420, 60});
        QCOMPARE(session.markedRange().first, session.markedRange().second);
    }

    void closedBelowTheMenuOfTheTimeline() {
        Session session;
        TimelinePanel panel(&session);
        panel.resize(1200, 320);
        panel.show();
        session.setAnalysis(testing::syntheticAnalysis());
        QApplication::processEvents();
        const Menu seen = closeFilesBelowMenu(session, panel.findChild<TimelineCanvas*>(), {300, 60});
        QVERIFY(seen.opened);
        QVERIFY(seen.closed);
    }

    void closedBelowTheMenuOfTheGraph() {
        Session session;
        GraphPanel panel(&session);
        panel.resize(900, 600);
        panel.show();
        session.setAnalysis(testing::syntheticAnalysis());
        QTRY_VERIFY(panel.settled());
        auto* canvas = panel.findChild<GraphCanvas*>();
        const Menu seen = closeFilesBelowMenu(session, canvas, canvas->rect().center());
        QVERIFY(seen.opened);
        QVERIFY(seen.closed);
    }

    // Both pictures hold the one that the session has: none reckons its own.
    void measuredFusionsAreReckonedOnceForAllViews() {
        Session session;
        GraphPanel graph(&session);
        TimelinePanel timeline(&session);
        for (QWidget* panel : {static_cast<QWidget*>(&graph), static_cast<QWidget*>(&timeline)}) {
            panel->resize(900, 600);
            panel->show();
        }
        session.setAnalysis(testing::syntheticAnalysis());
        QTRY_VERIFY(graph.settled());
        const auto paint = [&] { return !graph.grab().isNull() && !timeline.grab().isNull(); };
        std::vector<Session::ShownFused> seen;
        const auto isOneMore = [&] {
            const bool painted = paint() && paint();
            const Session::ShownFused one = session.shownFused();
            const bool shared = one.use_count() == 4; // here, in the session, and in each picture
            const bool fresh = std::find(seen.begin(), seen.end(), one) == seen.end();
            seen.push_back(one);
            return painted && shared && fresh;
        };
        QVERIFY(isOneMore());
        QVERIFY(seen.back()->empty());
        session.setMeasured(testing::measuredAs(*session.analysis(), 0, 0.25));
        QVERIFY(isOneMore());
        const std::size_t fused = seen.back()->size();
        QVERIFY(fused > 0);
        session.pick({PickKind::Finding, 1});
        QVERIFY(isOneMore());
        session.setMeasured({});
        QVERIFY(isOneMore());
        QVERIFY(seen.back()->empty());
        session.setAnalysis(nullptr);
        QVERIFY(session.shownFused()->empty());
    }

    void theMenuOfTheModelMeansTheModule() {
        Session session;
        ModelPanel panel(&session);
        session.setAnalysis(testing::syntheticAnalysis());
        RegionWish wish;
        connect(&session, &Session::regionWanted, &panel, [&](const RegionWish& wanted) { wish = wanted; });
        session.pick({PickKind::Module, 1});
        session.setMarkedRange(session.analysis()->trace->begin, session.analysis()->trace->end);
        QAction* measure = nullptr;
        for (QAction* action : panel.findChildren<QAction*>())
            if (action->text().startsWith(QLatin1String("Fuse this: ")) ||
                action->text().startsWith(QLatin1String("Measure with ")))
                measure = action;
        QVERIFY(measure != nullptr && measure->isEnabled());
        measure->trigger();
        QCOMPARE(wish.module.value, 1U);
        QVERIFY(wish.kernels.empty());
    }

    void aLongNameDoesNotWidenTheWindow() {
        constexpr int kNarrow = 480; // what the graph has at the window's least width
        const QString name(250, QLatin1Char('m'));
        Session session;
        Banner banner(&session);
        banner.show(Banner::Tone::Error, name + QStringLiteral(": expected a trace, found none"));
        QVERIFY2(banner.minimumSizeHint().width() <= kNarrow,
                 qPrintable(QString::number(banner.minimumSizeHint().width())));
        Welcome welcome;
        welcome.setRecent({QStringLiteral("/tmp/") + name + QStringLiteral(".json")});
        QVERIFY2(welcome.minimumSizeHint().width() <= kNarrow,
                 qPrintable(QString::number(welcome.minimumSizeHint().width())));
        welcome.resize(600, 600);
        welcome.show();
        QApplication::processEvents();
        auto* link = welcome.findChild<QPushButton*>(QStringLiteral("recent"));
        QVERIFY(link != nullptr);
        QVERIFY(link->fontMetrics().horizontalAdvance(link->text()) <= link->width());
        QVERIFY(link->toolTip().contains(name));
        QCOMPARE(link->accessibleName(), name + QStringLiteral(".json"));
    }

    void anAmpersandIsPartOfAName() {
        Welcome welcome;
        welcome.setRecent({QStringLiteral("/tmp/a&b.json")});
        welcome.resize(600, 600);
        welcome.show();
        QApplication::processEvents();
        QCOMPARE(welcome.findChild<QPushButton*>(QStringLiteral("recent"))->text(), QStringLiteral("a&&b.json"));
    }
};

QTEST_MAIN(ViewChangeTest)
#include "view_change_test.moc"
