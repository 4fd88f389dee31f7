// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/graph/graph_panel.h"

#include "core/base/format.h"
#include "core/measured/moves.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "ui/base/paint.h"
#include "ui/graph/breadcrumb.h"
#include "ui/graph/graph_canvas.h"
#include "ui/graph/graph_tip.h"

#include <QFile>
#include <QMenu>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QToolButton>
#include <QtTest>

#include <algorithm>
#include <memory>

using namespace fusescope;

namespace {

struct Shown {
    Session session;
    std::unique_ptr<GraphPanel> panel = std::make_unique<GraphPanel>(&session);
    explicit Shown(AnalysisPtr analysis = testing::syntheticAnalysis()) {
        panel->resize(800, 700);
        panel->show();
        session.setAnalysis(std::move(analysis));
    }
    [[nodiscard]] GraphCanvas* canvas() const { return panel->findChild<GraphCanvas*>(); }
    [[nodiscard]] bool settle() const {
        const bool settled = QTest::qWaitFor([this] { return panel->settled(); }, 10000);
        QApplication::processEvents();
        return settled && canvas()->picture();
    }
    [[nodiscard]] const VisibleGraph& visible() const { return canvas()->picture()->visible; }
    // A collapsed module that can be opened, and where its box stands.
    [[nodiscard]] int expandable() const {
        for (std::size_t i = 0; i < visible().nodes.size(); ++i)
            if (visible().nodes[i].kind == VisibleKind::Module && visible().nodes[i].expandable)
                return static_cast<int>(i);
        return -1;
    }
    [[nodiscard]] QPoint middleOf(int node) const {
        const LayoutRect& r = canvas()->picture()->layout.boxes[static_cast<std::size_t>(node)];
        return canvas()->toWidget({r.x + r.width / 2, r.y + r.height / 2}).toPoint();
    }
};

int inked(const QImage& image) {
    int count = 0;
    for (int x = 0; x < image.width(); x += 2)
        for (int y = 0; y < image.height(); y += 2)
            count += image.pixelColor(x, y) != qColor(ColourRole::Background, Theme::Light) ? 1 : 0;
    return count;
}

} // namespace

class GraphTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void measuredRegionsAreFusedUntilUndone() {
        Shown s;
        QVERIFY(s.settle());
        const auto says = [&](const QString& words) {
            const std::vector<DrawText>& texts = s.canvas()->list().texts;
            return std::any_of(texts.begin(), texts.end(),
                               [&](const DrawText& t) { return text(t.text).contains(words); });
        };
        const Analysis& a = *s.session.analysis();
        std::size_t row = 0;
        while (a.findings[row].pattern != Pattern::SwiGlu) ++row;
        double time = 0; // the mean of the four layers
        for (const Instance& i : a.findings[row].instances) time += (i.forward_ns + i.backward_ns) / 4;
        const QString label = text("SwiGLU " + formatDuration(time) + " → " + formatDuration(0.25 * time) + " ×4");
        QVERIFY(!says(label));
        s.session.setMeasured(testing::measuredAs(a, row, 0.25));
        QVERIFY2(says(label), qPrintable(label));
        s.panel->grab();
        const std::vector<TimelineFused> fused = timelineFused(a, s.session.measured(), s.session.selection());
        const std::vector<FusedGroup> groups = fusedGroups(a, s.visible(), fused);
        QCOMPARE(groups.size(), std::size_t{1});
        const QString tip = fusedTip(a, groups[0], s.session.measured());
        for (const char* words : {"Forward", "Backward", "Saves", "in each of 4", "as exact as eager", "NVIDIA H200"})
            QVERIFY2(tip.contains(QLatin1String(words)), qPrintable(tip));
        QVERIFY(fusedTip(a, groups[0], {}).isEmpty());
        s.session.setMeasured({});
        QVERIFY(!says(label));
    }

    void emptyStateIsPainted() {
        Session session;
        GraphPanel panel(&session);
        panel.resize(700, 500);
        panel.show();
        QVERIFY(panel.settled());
        QVERIFY(inked(panel.grab().toImage()) > 100);
        panel.fit();
        panel.zoomIn();
        panel.zoomToSelection();
        panel.focusModule(ModuleId(3));
        panel.toggleExpanded(ModuleId(3));
        QVERIFY(panel.settled());
    }

    void traceOnlyIsEmptyToo() {
        testing::SyntheticOptions options;
        options.graph = false;
        const Shown s(testing::syntheticAnalysis(options));
        QVERIFY(s.panel->settled());
        QVERIFY(!s.canvas()->isVisible());
    }

    void laysOutAndPaints() {
        const Shown s;
        QSignalSpy finished(s.panel.get(), &GraphPanel::layoutFinished);
        QVERIFY(!s.panel->settled());
        QVERIFY(s.settle());
        QCOMPARE(finished.count(), 1);
        QVERIFY(s.canvas()->isVisible());
        QVERIFY(inked(s.canvas()->grab().toImage()) > 1000);
        QVERIFY(s.canvas()->scale() >= 0.7); // words can be read
    }

    void themesDiffer() {
        Shown s;
        QVERIFY(s.settle());
        const QImage light = s.canvas()->grab().toImage();
        s.session.setTheme(Theme::Dark);
        QVERIFY(s.canvas()->grab().toImage() != light);
    }

    void expandingChangesThePictureAndBack() {
        const Shown s;
        QVERIFY(s.settle());
        const int node = s.expandable();
        QVERIFY(node >= 0);
        const ModuleId module = s.visible().nodes[static_cast<std::size_t>(node)].module;
        const std::size_t before = s.visible().nodes.size();
        const QPoint at = s.middleOf(node);
        if (s.canvas()->rect().contains(at))
            QTest::mouseDClick(s.canvas(), Qt::LeftButton, {}, at);
        else
            s.panel->toggleExpanded(module);
        QVERIFY(!s.panel->settled());
        QVERIFY(s.canvas()->picture()); // the old one stays until the new one is there
        QVERIFY(s.settle());
        QVERIFY(s.visible().nodes.size() > before);
        s.panel->toggleExpanded(module);
        QVERIFY(s.settle());
        QCOMPARE(s.visible().nodes.size(), before);
    }

    // Fitting the whole picture makes it small: what is opened then must be readable, and in sight.
    void anOpenedBlockIsShownReadable() {
        const Shown s;
        QVERIFY(s.settle());
        s.panel->resize(420, 380);
        s.panel->fit();
        QApplication::processEvents();
        QVERIFY(s.canvas()->scale() < 0.7);
        const ModuleId module = s.visible().nodes[static_cast<std::size_t>(s.expandable())].module;
        s.panel->toggleExpanded(module);
        QVERIFY(s.settle());
        QVERIFY2(s.canvas()->scale() >= 0.7 && s.canvas()->scale() <= 1,
                 qPrintable(QString::number(s.canvas()->scale())));
        for (std::size_t i = 0; i < s.visible().clusters.size(); ++i) {
            if (s.visible().clusters[i].module != module) continue;
            const LayoutRect& r = s.canvas()->picture()->layout.clusters[i];
            const QPointF top = s.canvas()->toWidget({r.x + r.width / 2, r.y});
            QVERIFY(QRectF(s.canvas()->rect()).contains(top)); // its title
            if (r.height * s.canvas()->scale() < s.canvas()->height() - 32)
                QVERIFY(s.canvas()->toWidget({r.x, r.y + r.height}).y() <= s.canvas()->height());
            return;
        }
        QFAIL("the module was not opened");
    }

    void crumbsNeverOverlap() {
        const AnalysisPtr analysis = testing::syntheticAnalysis();
        const ModuleTree& tree = analysis->graph->modules;
        const ModuleId deep = tree.find("model.layers.0.self_attn.q_proj");
        QVERIFY(deep.valid());
        for (const int width : {600, 320, 220, 120, 60}) {
            Breadcrumb crumbs;
            crumbs.resize(width, 28);
            crumbs.show(&tree, {}, deep);
            static_cast<QWidget&>(crumbs).show();
            QApplication::processEvents();
            QList<QToolButton*> shown;
            for (auto* button : crumbs.findChildren<QToolButton*>())
                if (button->isVisible()) shown << button;
            std::sort(shown.begin(), shown.end(), [](auto* a, auto* b) { return a->x() < b->x(); });
            QVERIFY(!shown.isEmpty());
            for (qsizetype i = 1; i < shown.size(); ++i)
                QVERIFY2(shown[i]->x() >= shown[i - 1]->geometry().right(), qPrintable(QString::number(width)));
            if (width >= 120) QVERIFY(shown.last()->text().contains(QLatin1String("proj"))); // the end tells most
            for (auto* button : shown) // what is hidden is in the menu
                if (button->text() == QStringLiteral("…")) QVERIFY(!button->menu()->actions().isEmpty());
        }
    }

    void enterOpensTheSelected() {
        Shown s;
        QVERIFY(s.settle());
        const ModuleId module = s.visible().nodes[static_cast<std::size_t>(s.expandable())].module;
        s.session.pick({PickKind::Module, module.value});
        const std::size_t before = s.visible().nodes.size();
        QTest::keyClick(s.canvas(), Qt::Key_Return);
        QVERIFY(s.settle());
        QVERIFY(s.visible().nodes.size() > before);
    }

    void clickSelectsAndClears() {
        const Shown s;
        QVERIFY(s.settle());
        s.panel->fit();
        const int node = s.expandable();
        QTest::mouseClick(s.canvas(), Qt::LeftButton, {}, s.middleOf(node));
        QCOMPARE(s.session.selection().pick,
                 (Pick{PickKind::Module, s.visible().nodes[static_cast<std::size_t>(node)].module.value}));
        const QImage selected = s.canvas()->grab().toImage();
        QTest::mouseClick(s.canvas(), Qt::LeftButton, {}, {2, s.canvas()->height() - 3});
        QCOMPARE(s.session.selection().pick.kind, PickKind::None);
        QVERIFY(s.canvas()->grab().toImage() != selected);
    }

    void controlClickChoosesSeveral() {
        Shown s;
        QVERIFY(s.settle());
        s.panel->focusModule(s.visible().nodes[static_cast<std::size_t>(s.expandable())].module);
        QVERIFY(s.settle());
        s.panel->fit();
        std::vector<int> boxes;
        std::vector<NodeId> nodes;
        for (std::size_t i = 0; i < s.visible().nodes.size(); ++i)
            if (s.visible().nodes[i].kind == VisibleKind::Op) {
                boxes.push_back(static_cast<int>(i));
                nodes.push_back(s.visible().nodes[i].node);
            }
        QVERIFY(boxes.size() >= 2);
        const auto click = [&](std::size_t i) {
            QTest::mouseClick(s.canvas(), Qt::LeftButton, Qt::ControlModifier, s.middleOf(boxes[i]));
        };
        click(0);
        QCOMPARE(s.session.selection().pick, (Pick{PickKind::Node, nodes[0].value}));
        click(1);
        QCOMPARE(s.session.selection().pick.kind, PickKind::Nodes);
        QCOMPARE(s.session.selection().nodes,
                 (std::vector<NodeId>{std::min(nodes[0], nodes[1]), std::max(nodes[0], nodes[1])}));
        click(0); // again: without it
        QCOMPARE(s.session.selection().pick, (Pick{PickKind::Node, nodes[1].value}));
        s.session.back();
        QCOMPARE(s.session.selection().nodes.size(), std::size_t{2});
    }

    void aFindingIsHighlighted() {
        Shown s;
        QVERIFY(s.settle());
        QVERIFY(!s.session.analysis()->findings.empty());
        s.session.pick({PickKind::Finding, 0});
        int selected = 0;
        for (const DrawRect& r : s.canvas()->list().rects) selected += r.emphasis == Emphasis::Selected ? 1 : 0;
        QVERIFY(selected > 0);
        s.panel->zoomToSelection();
        s.canvas()->grab();
    }

    void whatIsSelectedIsShownWholeWithItsLabel() {
        Shown s;
        QVERIFY(s.settle());
        const Analysis& a = *s.session.analysis();
        std::size_t row = 0;
        while (a.findings[row].pattern != Pattern::SwiGlu) ++row;
        s.session.setMeasured(testing::measuredAs(a, row, 0.25));
        s.panel->fit();
        const auto cut = [&](const DrawRect& r) {
            const QPointF from = s.canvas()->toWidget({r.x, r.y}),
                          to = s.canvas()->toWidget({r.x + r.width, r.y + r.height});
            return from.x() < -1 || from.y() < -1 || to.x() > s.canvas()->width() + 1 ||
                   to.y() > s.canvas()->height() + 1;
        };
        const auto isLabel = [&](const DrawRect& r) {
            return std::any_of(s.canvas()->list().texts.begin(), s.canvas()->list().texts.end(),
                               [&](const DrawText& t) {
                                   return text(t.text).startsWith(QLatin1String("SwiGLU")) && r.height < 20 &&
                                          t.x > r.x && t.x < r.x + r.width && t.y > r.y && t.y < r.y + r.height;
                               });
        };
        const auto labels = [&] {
            std::vector<DrawRect> found;
            for (const DrawRect& r : s.canvas()->list().rects)
                if (isLabel(r)) found.push_back(r);
            return found;
        };
        QCOMPARE(labels().size(), std::size_t{1});
        // Its left end just outside, on the left.
        s.canvas()->zoomAt(1.2, s.canvas()->toWidget({labels()[0].x + 400, labels()[0].y}));
        for (int i = 0; i < 200 && !cut(labels()[0]); ++i) QTest::keyClick(s.canvas(), Qt::Key_Right);
        QVERIFY(cut(labels()[0]));
        s.session.pick({PickKind::Finding, static_cast<std::uint32_t>(row)});
        QVERIFY(!cut(labels()[0]));
    }

    void zoomsAtTheMouse() {
        const Shown s;
        QVERIFY(s.settle());
        const QPointF at(300, 200), content = s.canvas()->toContent(at);
        const double before = s.canvas()->scale();
        s.canvas()->zoomAt(1.5, at);
        QVERIFY(s.canvas()->scale() > before);
        QVERIFY((s.canvas()->toWidget(content) - at).manhattanLength() < 1);
        for (int i = 0; i < 60; ++i) s.panel->zoomIn();
        for (int i = 0; i < 120; ++i) s.panel->zoomOut();
        QVERIFY(s.canvas()->scale() > 0);
        QTest::keyClick(s.canvas(), Qt::Key_F);
        const DrawList& list = s.canvas()->list();
        QVERIFY(s.canvas()->toWidget({list.width, list.height}).y() <= s.canvas()->height());
    }

    void focusShowsOnlyThatModule() {
        const Shown s;
        QVERIFY(s.settle());
        const ModuleId module = s.visible().nodes[static_cast<std::size_t>(s.expandable())].module;
        s.panel->focusModule(module);
        QVERIFY(s.settle());
        QCOMPARE(s.canvas()->picture()->state.focus, module);
        const auto crumbs = s.panel->findChild<Breadcrumb*>()->findChildren<QToolButton*>();
        QVERIFY(crumbs.size() >= 2);
        crumbs.front()->click(); // the whole model again
        QVERIFY(s.settle());
        QVERIFY(!s.canvas()->picture()->state.focus.valid());
    }

    void aNewAnalysisReplacesThePicture() {
        Shown s;
        s.session.setAnalysis(testing::syntheticAnalysis()); // while the first is being laid out
        QVERIFY(s.settle());
        QCOMPARE(s.canvas()->picture()->graph, s.session.analysis()->graph);
        s.session.setAnalysis(nullptr);
        QVERIFY(!s.canvas()->picture());
        QVERIFY(s.panel->settled());
    }

    void closesWhileLayingOut() {
        Shown s;
        s.panel.reset();
        QApplication::processEvents();
    }

    void aDeadOrSillyWorkerIsReplaced() {
        QTemporaryDir dir;
        const AnalysisPtr analysis = testing::syntheticAnalysis();
        for (const char* script :
             {"#!/bin/sh\nexit 3\n", "#!/bin/sh\necho nonsense\n", "#!/bin/sh\nkill -9 $$\n", "not a program"}) {
            const QString path = dir.filePath(QStringLiteral("worker"));
            QFile::remove(path);
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(script);
            file.close();
            file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
            GraphLayouter layouter;
            layouter.setProgram(path);
            GraphPicturePtr picture;
            connect(&layouter, &GraphLayouter::finished, this, [&](const GraphPicturePtr& p) { picture = p; });
            layouter.start(analysis->graph, defaultView(*analysis->graph));
            QVERIFY(QTest::qWaitFor([&] { return picture != nullptr; }, 8000));
            QCOMPARE(picture->layout.engine, std::string("layered"));
        }
    }

    void aSlowWorkerIsKilled() {
        QTemporaryDir dir;
        const QString path = dir.filePath(QStringLiteral("worker"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("#!/bin/sh\nexec sleep 60\n");
        file.close();
        file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
        const AnalysisPtr analysis = testing::syntheticAnalysis();
        GraphLayouter layouter;
        layouter.setProgram(path);
        GraphPicturePtr picture;
        connect(&layouter, &GraphLayouter::finished, this, [&](const GraphPicturePtr& p) { picture = p; });
        layouter.start(analysis->graph, defaultView(*analysis->graph));
        QVERIFY(QTest::qWaitFor([&] { return picture != nullptr; }, 8000));
        QVERIFY(!layouter.running());
    }

    void tellsAboutBoxes() {
        testing::SyntheticOptions options;
        options.name_suffix = "<script>";
        const AnalysisPtr a = testing::syntheticAnalysis(options);
        const VisibleGraph visible = visibleGraph(*a->graph, defaultView(*a->graph));
        for (const VisibleNode& node : visible.nodes) {
            const QString tip = nodeTip(*a, node);
            QVERIFY(!tip.isEmpty());
            QVERIFY(!tip.contains(QLatin1String("<script")));
        }
        QVERIFY(moduleTip(*a, {}, 1).isEmpty());
    }
};

QTEST_MAIN(GraphTest)
#include "graph_test.moc"
