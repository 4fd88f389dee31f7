// SPDX-License-Identifier: GPL-3.0-or-later
// One selection for all views, keys, themes, sizes: the whole window on the bundled sample.
#include "tests/ui/window_harness.h"

#include "ui/graph/graph_panel.h"
#include "ui/models/finding_model.h"
#include "ui/models/module_tree_model.h"
#include "ui/panels/findings_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/tables_panel.h"
#include "ui/timeline/timeline_panel.h"

#include <QAbstractItemModelTester>
#include <QAbstractItemView>
#include <QAbstractProxyModel>
#include <QAction>
#include <QClipboard>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QTableView>
#include <QTreeView>

#include <set>

namespace fusescope {

class WindowViewsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        window_ = windowOnSample();
        QVERIFY(window_);
        QVERIFY(session().analysis());
    }
    void cleanupTestCase() { window_.reset(); }
    void init() {
        session().clear();
        window_->timeline().showStep();
        QTest::qWait(20);
    }

    void modelsKeepTheirPromises() {
        int tested = 0;
        const QList<QAbstractItemView*> views = window_->findChildren<QAbstractItemView*>();
        for (QAbstractItemView* view : views) {
            auto* proxy = qobject_cast<QAbstractProxyModel*>(view->model());
            if (proxy == nullptr) continue;
            const QAbstractItemModelTester outer(proxy, QAbstractItemModelTester::FailureReportingMode::QtTest);
            const QAbstractItemModelTester inner(proxy->sourceModel(),
                                                 QAbstractItemModelTester::FailureReportingMode::QtTest);
            ++tested;
        }
        QVERIFY(tested >= 4); // modules, findings, kernels, operators
    }

    void aFindingSelectsEverywhere() {
        const Analysis& a = *session().analysis();
        for (std::size_t row = 0; row < a.findings.size(); ++row) {
            session().pick({PickKind::Finding, static_cast<std::uint32_t>(row)});
            const SelectionSets& sets = session().selection();
            QVERIFY(std::binary_search(sets.findings.begin(), sets.findings.end(), static_cast<std::uint32_t>(row)));
            // The list: its row is chosen, and the copy speaks of it.
            auto* list = window_->findChild<FindingsPanel*>()->findChild<QListView*>();
            QVERIFY(list != nullptr);
            std::set<std::uint32_t> chosen;
            for (const QModelIndex& index : list->selectionModel()->selectedIndexes())
                chosen.insert(index.data(PickIdRole).toUInt());
            QCOMPARE(chosen, std::set<std::uint32_t>(sets.findings.begin(), sets.findings.end()));
            QVERIFY(!window_->findChild<FindingsPanel*>()->copyText().isEmpty());
            // The tree: every chosen row stands for a module of the selection (copies share a row).
            auto* tree = window_->findChild<ModelPanel*>()->findChild<QTreeView*>();
            auto* proxy = qobject_cast<QAbstractProxyModel*>(tree->model());
            auto* model = qobject_cast<ModuleTreeModel*>(proxy->sourceModel());
            std::set<std::uint32_t> wanted, shown;
            for (const ModuleId module : sets.modules) wanted.insert(model->moduleAt(model->indexOf(module)).value);
            for (const QModelIndex& index : tree->selectionModel()->selectedRows())
                shown.insert(index.data(PickIdRole).toUInt());
            QCOMPARE(shown, wanted);
            // The timeline: something of it is in sight.
            if (sets.kernels.empty()) continue;
            const auto [t0, t1] = window_->timeline().range();
            const bool seen =
                std::any_of(sets.kernels.begin(), sets.kernels.end(), [&, from = t0, to = t1](KernelId kernel) {
                    const SliceId slice = a.trace->kernels.slice[kernel.index()];
                    return a.trace->slices.ts[slice.index()] < to && a.trace->endOf(slice) > from;
                });
            QVERIFY2(seen, a.findings[row].id.c_str());
        }
    }

    void tablesFollow() {
        const Analysis& a = *session().analysis();
        session().pick({PickKind::Op, 0});
        std::set<std::uint32_t> ops;
        int tables = 0;
        for (QTableView* view : window_->findChild<TablesPanel*>()->findChildren<QTableView*>()) {
            QVERIFY(!view->selectionModel()->selectedRows().isEmpty());
            ++tables;
        }
        QCOMPARE(tables, 2);
        QVERIFY(!a.ops.empty());
        QCOMPARE(session().selection().ops.front(), 0U);
    }

    void clickInTheListPicks() {
        auto* list = window_->findChild<FindingsPanel*>()->findChild<QListView*>();
        const QModelIndex second = list->model()->index(1, 0);
        QVERIFY(second.isValid());
        list->scrollTo(second);
        QTest::mouseClick(list->viewport(), Qt::LeftButton, Qt::NoModifier, list->visualRect(second).center());
        QCOMPARE(session().selection().pick, (Pick{PickKind::Finding, second.data(PickIdRole).toUInt()}));
        QTest::keyClick(list, Qt::Key_Up);
        QCOMPARE(session().selection().pick,
                 (Pick{PickKind::Finding, list->model()->index(0, 0).data(PickIdRole).toUInt()}));
    }

    void backForwardEscape() {
        session().pick({PickKind::Finding, 0});
        session().pick({PickKind::Op, 0});
        session().back();
        QCOMPARE(session().selection().pick, (Pick{PickKind::Finding, 0}));
        session().forward();
        QCOMPARE(session().selection().pick, (Pick{PickKind::Op, 0}));
        QTest::keyClick(window_.get(), Qt::Key_Escape);
        QVERIFY(QTest::qWaitFor([&] { return session().selection().pick.kind == PickKind::None; }, 500));
        session().back();
        QCOMPARE(session().selection().pick, (Pick{PickKind::Op, 0}));
    }

    void wasdMovesTheTimeline() {
        auto* canvas = window_->findChild<QWidget*>(QStringLiteral("timelineCanvas"));
        QVERIFY(canvas != nullptr);
        canvas->setFocus();
        const auto range = [&] { return window_->timeline().range(); };
        const auto first = range();
        QTest::keyClick(canvas, Qt::Key_W);
        QTest::keyClick(canvas, Qt::Key_W);
        const auto closer = range();
        QVERIFY(closer.second - closer.first < first.second - first.first);
        QTest::keyClick(canvas, Qt::Key_D);
        const auto right = range();
        QVERIFY(right.first > closer.first);
        QCOMPARE(right.second - right.first, closer.second - closer.first);
        QTest::keyClick(canvas, Qt::Key_A);
        QVERIFY(range().first < right.first);
        QTest::keyClick(canvas, Qt::Key_S);
        QVERIFY(range().second - range().first > closer.second - closer.first);
    }

    void expandingAModuleLaysOutAnew() {
        const Analysis& a = *session().analysis();
        const ModuleId mlp = a.link.modules.find("model.model.layers.0.mlp");
        QVERIFY(mlp.valid());
        Heartbeat heart;
        window_->graph().toggleExpanded(mlp);
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, 10'000));
        window_->graph().toggleExpanded(mlp);
        QVERIFY(QTest::qWaitFor([&] { return window_->settled(); }, 10'000));
        qInfo("longest stop of the window %lld ms", heart.longestMs());
        QVERIFY(heart.longestMs() < 250);
    }

    void theFilterNarrowsEveryList() {
        QLineEdit* search = nullptr;
        for (QLineEdit* edit : window_->findChildren<QLineEdit*>())
            if (edit->accessibleName() == QLatin1String("Filter")) search = edit;
        QVERIFY(search != nullptr);
        auto* list = window_->findChild<FindingsPanel*>()->findChild<QListView*>();
        const int all = list->model()->rowCount();
        search->setText(QStringLiteral("zzz no such thing"));
        QCOMPARE(list->model()->rowCount(), 0);
        search->clear();
        QCOMPARE(list->model()->rowCount(), all);
    }

    void everyWidgetPaintsInBothThemesAndSizes() {
        for (const QSize size : {QSize(1280, 800), QSize(1600, 1000), QSize(2560, 1440), QSize(1100, 700)})
            for (const settings::ThemeChoice theme : {settings::ThemeChoice::Light, settings::ThemeChoice::Dark}) {
                window_->setTheme(theme);
                window_->resize(size);
                session().pick({PickKind::Finding, 0});
                QTest::qWait(30);
                const QImage image = window_->grab().toImage();
                QCOMPARE(image.size(), size);
                const int lightness = image.pixelColor(4, image.height() - 4).lightness();
                QVERIFY(theme == settings::ThemeChoice::Dark ? lightness < 96 : lightness > 160);
            }
        for (QWidget* widget : window_->findChildren<QWidget*>())
            if (widget->isVisible() && !widget->size().isEmpty()) QVERIFY(!widget->grab().isNull());
        window_->setTheme(settings::ThemeChoice::System);
    }

    void theBarSaysLessInANarrowWindow() {
        const auto busy = [this] {
            for (const QLabel* label : window_->findChildren<QLabel*>())
                if (label->isVisible() && label->text().startsWith(QLatin1String("GPU busy"))) return label->text();
            return QString();
        };
        window_->resize(1280, 800);
        QTest::qWait(30);
        QCOMPARE(busy(), QStringLiteral("GPU busy 94.4%")); // 88.0 of 93.2 ms
        const auto* more = window_->findChild<QWidget*>(QStringLiteral("qt_toolbar_ext_button"));
        QVERIFY(more == nullptr || !more->isVisible()); // nothing fell off the bar
        window_->resize(1600, 1000);
        QTest::qWait(30);
        QCOMPARE(busy(), QStringLiteral("GPU busy 88.0 ms of 93.2 ms"));
    }

    void widgetsHaveNames() {
        QStringList nameless;
        for (QWidget* widget : window_->findChildren<QWidget*>()) {
            if (widget->inherits("QLineEditIconButton")) continue; // Qt's own clear button
            const bool focusable = (widget->focusPolicy() & Qt::TabFocus) != 0 && widget->isVisible();
            const bool named = !widget->accessibleName().isEmpty() || !widget->windowTitle().isEmpty() ||
                               !widget->property("text").toString().isEmpty() || !widget->toolTip().isEmpty();
            if (focusable && !named)
                nameless << QLatin1String(widget->metaObject()->className()) + QLatin1Char(' ') + widget->objectName() +
                                QLatin1String(" in ") +
                                QLatin1String(widget->parentWidget() != nullptr
                                                  ? widget->parentWidget()->metaObject()->className()
                                                  : "-");
        }
        QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QLatin1String("; "))));
    }

    void docksCanBeHiddenAndReset() {
        const QList<QDockWidget*> docks = window_->findChildren<QDockWidget*>();
        QVERIFY(docks.size() >= 5);
        for (QDockWidget* dock : docks) dock->hide();
        QTest::qWait(20);
        QVERIFY(!window_->grab().isNull());
        window_->resetLayout();
        QTest::qWait(20);
        for (QDockWidget* dock : docks) QVERIFY(!dock->isHidden() || !window_->tabifiedDockWidgets(dock).isEmpty());
    }

private:
    Session& session() { return window_->session(); }
    std::unique_ptr<MainWindow> window_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::WindowViewsTest)
#include "window_views_test.moc"
