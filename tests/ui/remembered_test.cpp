// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers between runs, and what it does not.
#include "tests/ui/window_harness.h"

#include "ui/models/module_tree_model.h"
#include "ui/panels/findings_panel.h"
#include "ui/panels/model_panel.h"

#include <QHeaderView>
#include <QMenu>
#include <QSignalSpy>
#include <QSplitter>
#include <QTreeView>

#include <cmath>

namespace fusescope {

class RememberedTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        qputenv("XDG_DATA_HOME", QFile::encodeName(data_.path()));
        prepareApplication();
    }

    void aThemeForOneRunIsNotKept() {
        settings::setTheme(settings::ThemeChoice::Light);
        MainWindow window(true);
        window.setTheme(settings::ThemeChoice::Dark); // as --theme does
        QCOMPARE(window.session().theme(), Theme::Dark);
        window.close();
        QCOMPARE(settings::theme(), settings::ThemeChoice::Light);
        for (QAction* action : window.findChildren<QAction*>())
            if (action->text() == QLatin1String("Theme: &dark")) action->trigger();
        QCOMPARE(settings::theme(), settings::ThemeChoice::Dark);
    }

    void columnsAndSplitters() {
        constexpr int kWide = 123, kShare = 700;
        int first_width = 0;
        {
            const auto window = opened();
            QVERIFY(window);
            first_width = header(*window)->sectionSize(ModuleTreeModel::TimeColumn);
            QVERIFY(first_width != kWide);
            header(*window)->resizeSection(ModuleTreeModel::TimeColumn, kWide);
            window->resize(1700, 1000); // the room changes: what was dragged stays
            QCOMPARE(header(*window)->sectionSize(ModuleTreeModel::TimeColumn), kWide);
            window->session().pick({PickKind::Finding, 0});
            QSplitter* split = splitter(*window);
            split->setSizes({1000 - kShare, kShare});
            Q_EMIT split->splitterMoved(split->sizes().front(), 1);
            window->close();
        }
        const auto window = opened();
        QVERIFY(window);
        QCOMPARE(header(*window)->sectionSize(ModuleTreeModel::TimeColumn), kWide);
        window->session().pick({PickKind::Finding, 0});
        QCoreApplication::processEvents();
        const QList<int> sizes = splitter(*window)->sizes();
        const double share = 1000.0 * sizes[1] / (sizes[0] + sizes[1]);
        QVERIFY2(std::abs(share - kShare) < 30, qPrintable(QString::number(share)));
        window->resetLayout();
        QCOMPARE(header(*window)->sectionSize(ModuleTreeModel::TimeColumn), first_width);
        QCOMPARE(window->findings().detailShare(), 500);
        window->close();
    }

    void whatIsNoStateIsNone() {
        Session session;
        ModelPanel panel(&session);
        const int width = panel.findChild<QTreeView*>()->header()->sectionSize(ModuleTreeModel::TimeColumn);
        for (const QByteArray& bad : {QByteArray("x"), QByteArray(64, '\xff'), QByteArray(64, '\0')}) {
            panel.setColumns(bad);
            QVERIFY(panel.columns().isEmpty());
            QCOMPARE(panel.findChild<QTreeView*>()->header()->sectionSize(ModuleTreeModel::TimeColumn), width);
        }
        FindingsPanel findings(&session);
        for (const int bad : {-1, 0, 1000, 1 << 30}) {
            findings.setDetailShare(bad);
            QCOMPARE(findings.detailShare(), 500);
        }
    }

    void sessionsAreAmongTheRecentFiles() {
        settings::clearRecentFiles();
        const QString path = data_.filePath(QStringLiteral("mine.fusescope"));
        {
            const auto window = opened();
            QVERIFY(window);
            QSignalSpy ended(window.get(), &MainWindow::exported);
            window->saveSession(path);
            QVERIFY(ended.wait(kLoadMs));
            QCOMPARE(settings::recentFiles().front(), path);
        }
        settings::clearRecentFiles();
        MainWindow window(true);
        window.openSession(path);
        QVERIFY(QTest::qWaitFor([&] { return window.settled(); }, kLoadMs));
        QCOMPARE(settings::recentFiles().front(), path);
        QCOMPARE(settings::recentFiles().size(), qsizetype{3}); // its inputs, too
        QStringList listed;
        for (const QMenu* menu : window.findChildren<QMenu*>())
            if (menu->title() == QLatin1String("Open &recent"))
                for (const QAction* action : menu->actions()) listed << action->text();
        QVERIFY(listed.contains(QStringLiteral("mine.fusescope")));
        // One that could not be opened is none.
        settings::clearRecentFiles();
        window.openSession(badFile("not-zip.pt2"));
        QVERIFY(QTest::qWaitFor([&] { return window.settled(); }, kLoadMs));
        QVERIFY(settings::recentFiles().isEmpty());
    }

private:
    static std::unique_ptr<MainWindow> opened() {
        auto window = std::make_unique<MainWindow>(true);
        window->resize(1600, 1000);
        window->show();
        if (!openAndSettle(*window, {sampleTrace(), sampleGraph()})) window.reset();
        return window;
    }
    static QHeaderView* header(const MainWindow& window) {
        return window.findChild<ModelPanel*>()->findChild<QTreeView*>()->header();
    }
    static QSplitter* splitter(MainWindow& window) { return window.findings().findChild<QSplitter*>(); }
    QTemporaryDir data_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::RememberedTest)
#include "remembered_test.moc"
