// SPDX-License-Identifier: GPL-3.0-or-later
// What the window says of itself after something did not come about, and what a session brings back.
#include "tests/ui/window_harness.h"

#include "app/session_file.h"
#include "ui/base/paint.h"

#include <QAccessible>
#include <QComboBox>
#include <QFileDialog>
#include <QImage>
#include <QLineEdit>
#include <QSet>
#include <QSignalSpy>
#include <QStatusBar>

#include <array>

namespace fusescope {
namespace {

QByteArray contentOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class WindowStateTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        window_ = windowOnSample();
        QVERIFY(window_);
        QVERIFY(device()->count() > 2);
        QVERIFY(step()->count() > 1);
    }
    void cleanupTestCase() { window_.reset(); }
    void cleanup() {
        window_->banner().clear();
        window_->statusBar()->clearMessage();
        session().clear();
    }

    void aCancelledChoiceGoesBack() {
        const QString gpu = device()->currentText(), shown = step()->currentText();
        choose(device(), device()->count() - 1);
        QVERIFY(window_->loader().running());
        window_->loader().cancel();
        QCOMPARE(device()->currentText(), gpu);
        choose(step(), step()->currentIndex() == 0 ? 1 : 0);
        window_->loader().cancel();
        QCOMPARE(step()->currentText(), shown);
        // One that comes about stays.
        choose(device(), device()->count() - 1);
        QVERIFY(settled());
        QCOMPARE(device()->currentIndex(), device()->count() - 1);
        QCOMPARE(session().analysis()->device.name, device()->currentData().toString().toStdString());
        choose(device(), 0);
        QVERIFY(settled());
        QCOMPARE(device()->currentText(), gpu);
    }

    void aSessionThatCannotBeShownLeavesTheGpu() {
        const QString gpu = device()->currentText();
        const QTemporaryDir folder;
        SessionFile session;
        session.inputs.append({badFile("empty.pt.trace.json"), {}});
        session.device = device()->itemData(device()->count() - 1).toString();
        QVERIFY(!session.device.isEmpty());
        const QString path = folder.filePath(QStringLiteral("s.fusescope"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(*sessionJson(session));
        file.close();
        window_->openSession(path);
        QVERIFY(settled());
        QVERIFY(!window_->banner().sentences().isEmpty());
        QCOMPARE(device()->currentText(), gpu);
    }

    void nodesAreSelectedAllOrNone() {
        QVERIFY(window_->select(QStringLiteral("nodes:silu,mul_15")));
        QCOMPARE(session().selection().nodes.size(), std::size_t{2});
        for (const char* wrong : {"nodes:silu,nope", "nodes:silu, mul_15", "nodes:silu,", "nodes:"})
            QVERIFY2(!window_->select(QLatin1String(wrong)), wrong);
        QCOMPARE(session().selection().nodes.size(), std::size_t{2}); // as it was
    }

    void aSessionWithoutItsTraceShowsItsGraph() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("s.fusescope"));
        SessionFile session;
        session.inputs.append({sampleGraph(), sha256Of(sampleGraph())});
        session.inputs.append({folder.filePath(QStringLiteral("moved.json.gz")), {}});
        session.step = QStringLiteral("4");
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(*sessionJson(session));
        file.close();
        MainWindow window(false);
        window.openSession(path);
        QVERIFY(QTest::qWaitFor([&] { return window.settled(); }, kLoadMs));
        QVERIFY(window.session().analysis() && window.session().analysis()->graph);
        QCOMPARE(window.banner().sentences().size(), 2); // the trace, and the step that went with it
    }

    void nothingIsWrittenForEver() {
        QSignalSpy ended(window_.get(), &MainWindow::exported);
        window_->saveSession(QStringLiteral("/nowhere/at/all/s.fusescope"));
        QVERIFY(ended.wait(kLoadMs));
        QCOMPARE(ended.front().back().toBool(), false);
        QCOMPARE(window_->statusBar()->currentMessage(), QString());
        QCOMPARE(window_->banner().sentences().size(), 1);
    }

    void nothingIsOpenedForEver() {
        const QTemporaryDir folder;
        window_->openSession(folder.filePath(QStringLiteral("s.fusescope")));
        QVERIFY(window_->statusBar()->currentMessage().contains(QLatin1String("s.fusescope")));
        choose(device(), 0); // takes its place
        QCOMPARE(window_->statusBar()->currentMessage(), QString());
        QVERIFY(settled());
    }

    void aSessionBringsBackWhateverIsSelected() {
        const QTemporaryDir folder;
        const Analysis& a = *session().analysis();
        const std::array<Pick, 6> picks = {Pick{PickKind::Finding, 1}, Pick{PickKind::Instance, 0U << 16U | 1U},
                                           Pick{PickKind::Node, 20},   Pick{PickKind::Kernel, 7},
                                           Pick{PickKind::Op, 2},      Pick{PickKind::Slice, 11}};
        QVERIFY(a.findings.front().instances.size() > 1 && a.ops.size() > 2);
        for (std::size_t i = 0; i < picks.size(); ++i) {
            session().pick(picks[i]);
            const SelectionSets before = session().selection();
            roundTrip(folder.filePath(QStringLiteral("%1.fusescope").arg(i)));
            QVERIFY2(session().selection().pick == picks[i], qPrintable(QString::number(i)));
            QVERIFY(session().selection().kernels == before.kernels);
        }
        session().pickNodes({NodeId(20), NodeId(22), NodeId(23)});
        const std::vector<NodeId> several = session().selection().nodes;
        QCOMPARE(several.size(), std::size_t{3});
        roundTrip(folder.filePath(QStringLiteral("nodes.fusescope")));
        QCOMPARE(session().selection().pick.kind, PickKind::Nodes);
        QVERIFY(session().selection().nodes == several);
    }

    void aSessionBringsBackTheMarkedRange() {
        const QTemporaryDir folder;
        const std::int64_t begin = session().analysis()->trace->begin + 12'345; // more than 2^53
        session().pick({PickKind::Finding, 1});
        session().setMarkedRange(begin, begin + 1'000'001);
        roundTrip(folder.filePath(QStringLiteral("m.fusescope")));
        QVERIFY(session().markedRange() == std::pair(begin, begin + 1'000'001));
        QCOMPARE(session().selection().pick.kind, PickKind::Finding);
        session().clear();
        roundTrip(folder.filePath(QStringLiteral("n.fusescope")));
        QVERIFY(session().markedRange().first == session().markedRange().second);
    }

    void whatASessionNamesHasToBeThere() {
        const Analysis& a = *session().analysis();
        for (const char* what :
             {"instance:rms_norm#99999", "instance:rms_norm#-1", "instance:rms_norm", "instance:none#0",
              "op:4294967295", "op:x", "slice:4294967294", "slice:", "nodes:", "region:none"})
            QVERIFY2(pickOf(a, QLatin1String(what)).kind == PickKind::None, what);
    }

    void aPictureIsWrittenWhole() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("window"));
        QCOMPARE(window_->savePicture(path), QString());
        QCOMPARE(QImage(path).size(), window_->size());
        const QString why = window_->savePicture(QStringLiteral("/nowhere/at/all/w.png"));
        QVERIFY2(why.contains(QLatin1String("/nowhere/at/all/w.png")) && why.contains(QLatin1String("No such file")),
                 qPrintable(why));
        QVERIFY(!window_->savePicture(folder.path()).isEmpty());
    }

    void anInputThatIsGoneIsNotEveryFile() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("t.json.gz"));
        QVERIFY(QFile::copy(sampleTrace(), trace));
        MainWindow window(false);
        QVERIFY(openAndSettle(window, {trace}));
        QVERIFY(QFile::remove(trace));
        QCOMPARE(window.savePicture(folder.filePath(QStringLiteral("w.png"))), QString());
        QVERIFY(!window.savePicture(folder.filePath(QStringLiteral("./t.json.gz"))).isEmpty());
        QSignalSpy ended(&window, &MainWindow::exported);
        window.saveSession(folder.filePath(QStringLiteral("s.fusescope")));
        QVERIFY(ended.count() == 1 || ended.wait(kLoadMs));
        QVERIFY(ended.front().back().toBool());
    }

    // Docks of a wide window in a narrow one: the graph between them keeps its share.
    void aSessionOfALargerWindowLeavesTheGraphItsRoom() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("wide.fusescope"));
        const auto graphShare = [&] {
            QCoreApplication::processEvents();
            return static_cast<double>(window_->centralWidget()->width()) / window_->width();
        };
        window_->resize(1920, 1080);
        window_->resetLayout();
        const double wide = graphShare();
        QSignalSpy ended(window_.get(), &MainWindow::exported);
        window_->saveSession(path);
        QVERIFY(ended.wait(kLoadMs));
        window_->resize(1280, 800);
        window_->openSession(path);
        QVERIFY(settled());
        const double narrow = graphShare();
        QVERIFY2(narrow > wide - 0.05, qPrintable(QStringLiteral("%1 of %2").arg(narrow).arg(wide)));
    }

    void aPictureIsNotWrittenOverAnInput() {
        const QTemporaryDir folder;
        const QString trace = folder.filePath(QStringLiteral("t.json.gz"));
        QVERIFY(QFile::copy(sampleTrace(), trace));
        MainWindow window(false);
        QVERIFY(openAndSettle(window, {trace}));
        const QByteArray before = contentOf(trace);
        QVERIFY(!window.savePicture(trace).isEmpty());
        QVERIFY(contentOf(trace) == before);
    }

    void whatTakesTheFocusHasAName() {
        session().pick({PickKind::Finding, 0});
        QCoreApplication::processEvents();
        int seen = 0;
        for (QWidget* widget : window_->findChildren<QWidget*>()) {
            if (!widget->isVisible() || widget->focusPolicy() == Qt::NoFocus || widget->focusProxy() != nullptr)
                continue;
            // Qt's own parts of a widget: icons in a field, what is behind a scroll bar.
            if (widget->objectName().startsWith(QLatin1String("qt_"))) continue;
            if (qobject_cast<QLineEdit*>(widget->parentWidget()) != nullptr) continue;
            const QAccessibleInterface* spoken = QAccessible::queryAccessibleInterface(widget);
            QVERIFY(spoken != nullptr);
            ++seen;
            QVERIFY2(!spoken->text(QAccessible::Name).isEmpty(),
                     qPrintable(QLatin1String(widget->metaObject()->className()) + QLatin1Char(' ') +
                                widget->objectName() + QLatin1String(" in ") +
                                QLatin1String(widget->parentWidget()->metaObject()->className())));
        }
        QVERIFY(seen > 12);
    }

    void tabComesRoundTheWindow() {
        session().pick({PickKind::Finding, 0});
        window_->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(window_.get()));
        QWidget* const first = window_->findChild<QWidget*>(QStringLiteral("device"));
        first->setFocus();
        constexpr int kMost = 300; // links in the details are stops, too
        QSet<QWidget*> stops;
        int tabs = 0;
        do {
            stops.insert(QApplication::focusWidget());
            QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        } while (QApplication::focusWidget() != first && ++tabs < kMost);
        QVERIFY2(tabs < kMost, QApplication::focusWidget()->metaObject()->className());
        for (const char* name : {"timelineCanvas", "graphCanvas"})
            QVERIFY2(stops.contains(window_->findChild<QWidget*>(QLatin1String(name))), name);
    }

    void aNameWithoutASuffixGetsOne() {
        const QTemporaryDir folder;
        QSignalSpy ended(window_.get(), &MainWindow::exported);
        QTimer::singleShot(100, window_.get(), [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            dialog->findChild<QLineEdit*>()->setText(folder.filePath(QStringLiteral("mine")));
            QMetaObject::invokeMethod(dialog, "accept");
        });
        for (QAction* action : window_->findChildren<QAction*>())
            if (action->text().startsWith(QLatin1String("Sa&ve session"))) action->trigger();
        QVERIFY(ended.count() == 1 || ended.wait(kLoadMs));
        QCOMPARE(ended.front().front().toString(), folder.filePath(QStringLiteral("mine.fusescope")));
    }

private:
    Session& session() { return window_->session(); }
    QComboBox* device() { return window_->findChild<QComboBox*>(QStringLiteral("device")); }
    QComboBox* step() {
        for (auto* box : window_->findChildren<QComboBox*>())
            if (box->accessibleName() == QLatin1String("Step")) return box;
        return nullptr;
    }
    static void choose(QComboBox* box, int row) {
        box->setCurrentIndex(row);
        Q_EMIT box->activated(row);
    }
    bool settled() {
        return QTest::qWaitFor([&] { return window_->settled(); }, kLoadMs);
    }
    void roundTrip(const QString& path) {
        QSignalSpy ended(window_.get(), &MainWindow::exported);
        window_->saveSession(path);
        QVERIFY(ended.wait(kLoadMs));
        QVERIFY(ended.front().back().toBool());
        session().clear();
        window_->openSession(path);
        QVERIFY(settled());
    }

    std::unique_ptr<MainWindow> window_;
};

} // namespace fusescope

QTEST_MAIN(fusescope::WindowStateTest)
#include "window_state_test.moc"
