// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/synthetic_analysis.h"
#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/models/finding_model.h"
#include "ui/models/module_tree_model.h"
#include "ui/models/roles.h"
#include "ui/models/step_tables.h"
#include "ui/panels/finding_text.h"
#include "ui/panels/findings_panel.h"
#include "ui/panels/model_panel.h"
#include "ui/panels/tables_panel.h"

#include <QClipboard>
#include <QFontMetricsF>
#include <QGuiApplication>
#include <QLabel>
#include <QListView>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTableView>
#include <QTest>
#include <QTextBrowser>
#include <QTreeView>

using namespace fusescope;

namespace {

void click(QAbstractItemView* view, const QModelIndex& index) {
    view->scrollTo(index);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, Qt::NoModifier, view->visualRect(index).center());
}
template <class Panel> void show(Panel& panel, int width, int height) {
    panel.resize(width, height);
    panel.show();
    QVERIFY(QTest::qWaitForWindowExposed(&panel));
}

} // namespace

class PanelsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() {
        session_ = std::make_unique<Session>();
        analysis_ = testing::syntheticAnalysis();
    }
    void emptyStatesSayWhatHelps();
    void modelTreeFollowsAndPicks();
    void modelTreeShowsFlopsWithoutATrace();
    void modelTreeShowsParametersWithAGraph();
    void modelTreeOpensTheGraph();
    void modelFilterShowsMatchesOnly();
    void tablesFollowAndPick();
    void rowsAreCopiedAsTabSeparatedText();
    void findingsFollowAndPick();
    void theFilterKeepsListAndDetailTogether();
    void theTextFollowsTheState();
    void cardsShowTheWholeRange();
    void tablesOpenAtTheTop();
    void findingLinksPickOthers();
    void findingIsCopiedAsMarkdown();
    void noFindings();
    void themesAndReopeningKeepWorking();

private:
    std::unique_ptr<Session> session_;
    AnalysisPtr analysis_;
};

void PanelsTest::emptyStatesSayWhatHelps() {
    ModelPanel model(session_.get());
    TablesPanel tables(session_.get());
    FindingsPanel findings(session_.get());
    for (QWidget* panel : std::initializer_list<QWidget*>{&model, &tables, &findings}) {
        panel->show();
        const auto* note = panel->findChild<EmptyNote*>();
        QVERIFY(note != nullptr);
        QVERIFY(note->isVisible());
        QVERIFY(!note->accessibleName().isEmpty());
    }
    session_->setAnalysis(analysis_);
    for (QWidget* panel : std::initializer_list<QWidget*>{&model, &tables, &findings})
        QVERIFY(!panel->findChild<EmptyNote*>()->isVisible());
    QVERIFY(findings.copyText().isEmpty());
}

void PanelsTest::modelTreeFollowsAndPicks() {
    ModelPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    show(panel, 400, 600);
    auto* tree = panel.findChild<QTreeView*>();
    QVERIFY(tree->model()->rowCount() == 1);
    const QModelIndex root = tree->model()->index(0, 0);
    QVERIFY(tree->isExpanded(root));
    const QModelIndex child = tree->model()->index(0, 0, root);
    click(tree, child);
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Module, child.data(PickIdRole).toUInt()}));

    const ModuleId mlp = analysis_->link.modules.find("model.layers.0.mlp");
    session_->pick({PickKind::Module, mlp.value});
    QCOMPARE(tree->currentIndex().data(PickIdRole).toUInt(), mlp.value);
    QVERIFY(tree->selectionModel()->isSelected(tree->currentIndex()));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Module, mlp.value})); // following picks nothing
    session_->back();
    QCOMPARE(tree->currentIndex().data(PickIdRole).toUInt(), session_->selection().pick.id);
    session_->clear();
    QVERIFY(tree->selectionModel()->selectedRows().isEmpty());
}

void PanelsTest::modelTreeShowsFlopsWithoutATrace() {
    ModelPanel panel(session_.get());
    show(panel, 280, 600);
    auto* tree = panel.findChild<QTreeView*>();
    const auto shown = [&] {
        std::vector<int> columns;
        for (int column = 0; column < ModuleTreeModel::ColumnCount; ++column)
            if (!tree->isColumnHidden(column)) columns.push_back(column);
        return columns;
    };
    session_->setAnalysis(analysis_);
    QCOMPARE(shown(), (std::vector<int>{ModuleTreeModel::ModuleColumn, ModuleTreeModel::TimeColumn,
                                        ModuleTreeModel::ShareColumn}));
    testing::SyntheticOptions options;
    options.trace = false;
    session_->setAnalysis(testing::syntheticAnalysis(options));
    QCOMPARE(shown(), (std::vector<int>{ModuleTreeModel::ModuleColumn, ModuleTreeModel::ParametersColumn,
                                        ModuleTreeModel::FlopsColumn}));
}

void PanelsTest::modelTreeShowsParametersWithAGraph() {
    ModelPanel panel(session_.get());
    show(panel, 600, 600);
    auto* tree = panel.findChild<QTreeView*>();
    session_->setAnalysis(analysis_);
    QVERIFY(!tree->isColumnHidden(ModuleTreeModel::ParametersColumn));
    Analysis alone = *analysis_;
    alone.graph = nullptr;
    session_->setAnalysis(std::make_shared<const Analysis>(std::move(alone)));
    QVERIFY(tree->isColumnHidden(ModuleTreeModel::ParametersColumn)); // nothing but dashes
    QVERIFY(!tree->isColumnHidden(ModuleTreeModel::TimeColumn));
}

void PanelsTest::modelTreeOpensTheGraph() {
    ModelPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    show(panel, 400, 600);
    auto* tree = panel.findChild<QTreeView*>();
    QSignalSpy spy(&panel, &ModelPanel::moduleActivated);
    tree->setCurrentIndex(tree->model()->index(0, 0));
    QTest::keyClick(tree, Qt::Key_Return);
    QCOMPARE(spy.count(), 1);
}

void PanelsTest::modelFilterShowsMatchesOnly() {
    ModelPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    auto* tree = panel.findChild<QTreeView*>();
    panel.setFilter(QStringLiteral("nothing like it"));
    QCOMPARE(tree->model()->rowCount(), 0);
    panel.setFilter(QString());
    QCOMPARE(tree->model()->rowCount(), 1);
    QCOMPARE(session_->selection().pick.kind, PickKind::None);
}

void PanelsTest::tablesFollowAndPick() {
    TablesPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    show(panel, 1000, 300);
    auto* kernels = panel.findChild<QTableView*>(QStringLiteral("kernels"));
    auto* ops = panel.findChild<QTableView*>(QStringLiteral("operators"));
    QVERIFY(kernels != nullptr && ops != nullptr);
    QCOMPARE(kernels->model()->rowCount(), static_cast<int>(analysis_->kernels.size()));
    click(kernels, kernels->model()->index(1, 0));
    QCOMPARE(session_->selection().pick.kind, PickKind::Kernel);
    QCOMPARE(kernels->selectionModel()->selectedRows().size(), 1);
    QCOMPARE(kernels->currentIndex().row(), 1);
    QVERIFY(!ops->selectionModel()->selectedRows().isEmpty()); // the operator of that kernel

    session_->pick({PickKind::Op, 2});
    QCOMPARE(ops->currentIndex().data(PickIdRole).toUInt(), 2U);
    QVERIFY(ops->selectionModel()->isRowSelected(ops->currentIndex().row(), {}));
    QVERIFY(!kernels->selectionModel()->selectedRows().isEmpty());

    session_->pick({PickKind::Finding, 0});
    QVERIFY(kernels->selectionModel()->selectedRows().size() > 1);
    panel.setFilter(QStringLiteral("nvjet"));
    QVERIFY(kernels->model()->rowCount() > 0 &&
            kernels->model()->rowCount() < static_cast<int>(analysis_->kernels.size()));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 0}));
    // Every kernel's row picks one of its own kernels, the longest.
    panel.setFilter(QString());
    auto* model = panel.findChild<KernelTableModel*>();
    for (int row = 0; row < model->rowCount(); ++row) {
        const KernelId kernel = model->longestKernel(row);
        const auto& all = analysis_->kernels[static_cast<std::size_t>(row)].kernels;
        QVERIFY(std::find(all.begin(), all.end(), kernel) != all.end());
    }
}

void PanelsTest::rowsAreCopiedAsTabSeparatedText() {
    TablesPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    show(panel, 1000, 300);
    auto* kernels = panel.findChild<QTableView*>(QStringLiteral("kernels"));
    QVERIFY(kernels != nullptr);
    kernels->selectAll();
    const QStringList lines = rowsAsText(*kernels).split(QLatin1Char('\n'));
    QCOMPARE(lines.size(), kernels->model()->rowCount() + 1); // with a header
    for (const QString& line : lines) QCOMPARE(line.count(QLatin1Char('\t')), kernels->model()->columnCount() - 1);
    QGuiApplication::clipboard()->clear();
    kernels->setFocus();
    kernels->selectRow(0);
    QTest::keySequence(kernels, QKeySequence::Copy);
    if (QGuiApplication::clipboard()->text().isEmpty()) QSKIP("the platform has no clipboard or no shortcuts");
    QVERIFY(QGuiApplication::clipboard()->text().contains(QLatin1Char('\t')));
}

void PanelsTest::findingsFollowAndPick() {
    FindingsPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    show(panel, 380, 700);
    auto* list = panel.findChild<QListView*>();
    auto* detail = panel.findChild<QTextBrowser*>();
    QCOMPARE(list->model()->rowCount(), static_cast<int>(analysis_->findings.size()));
    QVERIFY(!detail->isVisible());
    click(list, list->model()->index(1, 0));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 1}));
    QVERIFY(detail->isVisible());
    QTest::keyClick(list, Qt::Key_Down);
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 2}));
    // From elsewhere: an instance, and a kernel.
    session_->pick({PickKind::Instance, 3U << 16U | 1U});
    QCOMPARE(list->selectionModel()->selectedRows().size(), 1);
    QCOMPARE(list->currentIndex().data(PickIdRole).toUInt(), 3U);
    session_->pick({PickKind::Kernel, analysis_->findings[0].instances[0].forward[0].value});
    QVERIFY(list->selectionModel()->isSelected(list->model()->index(0, 0)));
    session_->clear();
    QVERIFY(!detail->isVisible());
    QVERIFY(panel.copyText().isEmpty());
}

void PanelsTest::theFilterKeepsListAndDetailTogether() {
    FindingsPanel panel(session_.get());
    Analysis value = testing::syntheticAnalysisValue();
    session_->setAnalysis(std::make_shared<const Analysis>(std::move(value)));
    show(panel, 380, 700);
    auto* list = panel.findChild<QListView*>();
    auto* detail = panel.findChild<QTextBrowser*>();
    // A module that several findings share.
    const ModuleId layer = session_->analysis()->link.modules.find("model.layers.0");
    session_->pick({PickKind::Module, layer.value});
    const std::vector<std::uint32_t> rows = session_->selection().findings;
    QVERIFY(rows.size() >= 2);
    const auto title = [&](std::uint32_t row) { return titleOf(session_->analysis()->findings[row]); };
    QVERIFY(detail->toPlainText().startsWith(title(rows[0])));
    panel.setFilter(title(rows[1]));
    QVERIFY(list->model()->rowCount() >= 1);
    const QString shown = detail->toPlainText();
    bool visible = false;
    for (int row = 0; row < list->model()->rowCount(); ++row)
        visible = visible || shown.startsWith(list->model()->index(row, 0).data().toString());
    QVERIFY2(detail->isVisible() && visible, qPrintable(shown.left(60)));
    panel.setFilter(QStringLiteral("nothing like it"));
    QVERIFY(!detail->isVisible());
    QVERIFY(panel.copyText().isEmpty());
    panel.setFilter(QString());
    QVERIFY(detail->toPlainText().startsWith(title(rows[0])));
}

void PanelsTest::theTextFollowsTheState() {
    Analysis value = testing::syntheticAnalysisValue();
    const CatalogEntry& entry = catalogEntry(value.findings[0].pattern);
    const QString before = QString::fromStdString(entry.before).left(20).toHtmlEscaped(),
                  after = QString::fromStdString(entry.after).left(20).toHtmlEscaped();
    const auto now = [](const QString& html) { return html.mid(html.indexOf(QLatin1String("<b>Now:</b> ")) + 12); };
    value.findings[0].state = FusionState::Unfused;
    QVERIFY(now(findingHtml(value, 0, Theme::Light)).startsWith(before));
    value.findings[0].state = FusionState::Fused;
    QVERIFY(now(findingHtml(value, 0, Theme::Light)).startsWith(after));
    // Evidence stands above the long texts.
    value.findings[0].signals = {1};
    value.findings[0].signal_evidence = {"Eight kernels."};
    const QString html = findingHtml(value, 0, Theme::Light);
    QVERIFY(html.indexOf(QLatin1String("Eight kernels.")) < html.indexOf(before));
}

void PanelsTest::cardsShowTheWholeRange() {
    Finding f = analysis_->findings[0];
    f.saving_ns = {24.4e6, 25.5e6, 26.1e6};
    const QFontMetricsF strong(uiFont(13, true)), plain(uiFont(12));
    // The narrowest the dock is at first: 304 px less margins and a scroll bar.
    const double room = 304 - 32 - 16;
    QVERIFY(strong.horizontalAdvance(savingText(f)) + 8 + plain.horizontalAdvance(savingRangeText(f)) + 8 +
                plain.horizontalAdvance(QStringLiteral("27.3%")) <=
            room);
}

void PanelsTest::tablesOpenAtTheTop() {
    TablesPanel panel(session_.get());
    session_->setAnalysis(analysis_);
    panel.resize(900, 120);
    auto* kernels = panel.findChild<QTableView*>(QStringLiteral("kernels"));
    QVERIFY(kernels->model()->rowCount() > 5);
    const int last = kernels->model()->rowCount() - 1;
    const auto row = kernels->model()->index(last, 0).data(PickIdRole).toUInt();
    session_->pick({PickKind::Kernel, row}); // behind another tab
    session_->clear();
    show(panel, 900, 120);
    QTest::qWait(20);
    QCOMPARE(kernels->verticalScrollBar()->value(), 0);
    panel.hide();
    session_->pick({PickKind::Kernel, row});
    panel.show();
    QTest::qWait(20);
    QVERIFY(kernels->viewport()->rect().intersects(kernels->visualRect(kernels->model()->index(last, 0))));
}

void PanelsTest::findingLinksPickOthers() {
    Analysis value = testing::syntheticAnalysisValue();
    value.findings[0].conflicts = {value.findings[2].id};
    session_->setAnalysis(std::make_shared<const Analysis>(std::move(value)));
    FindingsPanel panel(session_.get());
    session_->pick({PickKind::Finding, 0});
    auto* detail = panel.findChild<QTextBrowser*>();
    QVERIFY(detail->toHtml().contains(QLatin1String("finding:")));
    Q_EMIT detail->anchorClicked(QUrl(QStringLiteral("instance:2")));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Instance, 2}));
    Q_EMIT detail->anchorClicked(
        QUrl(QLatin1String("finding:") + QString::fromStdString(session_->analysis()->findings[2].id)));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 2}));
    Q_EMIT detail->anchorClicked(QUrl(QStringLiteral("finding:none")));
    QCOMPARE(session_->selection().pick, (Pick{PickKind::Finding, 2}));
}

void PanelsTest::findingIsCopiedAsMarkdown() {
    testing::SyntheticOptions options;
    options.name_suffix = "<script>";
    session_->setAnalysis(testing::syntheticAnalysis(options));
    FindingsPanel panel(session_.get());
    session_->pick({PickKind::Finding, 1});
    const QString words = panel.copyText();
    QVERIFY(words.startsWith(QLatin1String("### ")));
    QVERIFY(words.contains(QLatin1String("s/step"))); // ms or µs
    QVERIFY(words.contains(QLatin1String("**Evidence**")));
    QVERIFY(words.contains(QLatin1String("| Kernels each |")));
    // Names from files are text, never markup.
    QVERIFY(panel.findChild<QTextBrowser*>()->toPlainText().contains(QLatin1String("<script>")));
}

void PanelsTest::noFindings() {
    testing::SyntheticOptions options;
    options.findings = false;
    session_->setAnalysis(testing::syntheticAnalysis(options));
    FindingsPanel panel(session_.get());
    panel.show();
    const auto* note = panel.findChild<EmptyNote*>();
    QVERIFY(note->isVisible());
    QVERIFY(note->accessibleName().contains(QLatin1String("Nothing here")));
    QVERIFY(note->accessibleDescription().contains(QLatin1String("RMSNorm")));
    QVERIFY(!note->accessibleDescription().contains(QLatin1String("pointwise"))); // nothing looks for those
    // A trace that ends before its first kernel is no model that is fused well.
    Analysis cut = testing::syntheticAnalysisValue(options);
    cut.graph = nullptr;
    cut.trace = std::make_shared<const TraceStore>();
    session_->setAnalysis(std::make_shared<const Analysis>(std::move(cut)));
    QVERIFY2(note->accessibleName().contains(QLatin1String("No GPU kernel")), qPrintable(note->accessibleName()));
}

void PanelsTest::themesAndReopeningKeepWorking() {
    ModelPanel model(session_.get());
    TablesPanel tables(session_.get());
    FindingsPanel findings(session_.get());
    session_->setAnalysis(analysis_);
    session_->pick({PickKind::Finding, 0});
    for (const Theme theme : {Theme::Dark, Theme::Light}) {
        session_->setTheme(theme);
        for (QWidget* panel : std::initializer_list<QWidget*>{&model, &tables, &findings})
            QVERIFY(!panel->grab().isNull());
    }
    session_->setAnalysis(testing::syntheticAnalysis({.trace = false}));
    session_->pick({PickKind::Finding, 0});
    for (QWidget* panel : std::initializer_list<QWidget*>{&model, &tables, &findings}) QVERIFY(!panel->grab().isNull());
    session_->setAnalysis(nullptr);
    QVERIFY(findings.copyText().isEmpty());
}

QTEST_MAIN(PanelsTest)
#include "panels_test.moc"
