// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/support/synthetic_analysis.h"
#include "ui/models/delegates.h"
#include "ui/models/filter_proxy.h"
#include "ui/models/finding_model.h"
#include "ui/models/module_tree_model.h"
#include "ui/models/roles.h"
#include "ui/models/step_tables.h"

#include <QAbstractItemModelTester>
#include <QImage>
#include <QPainter>
#include <QStandardItemModel>
#include <QTest>

using namespace fusescope;

namespace {

QModelIndex findRow(const QAbstractItemModel& model, const QString& name, const QModelIndex& below = {}) {
    for (int row = 0; row < model.rowCount(below); ++row) {
        const QModelIndex index = model.index(row, 0, below);
        if (index.data().toString() == name) return index;
        const QModelIndex deeper = findRow(model, name, index);
        if (deeper.isValid()) return deeper;
    }
    return {};
}

} // namespace

class ModelsTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyModelKeepsTheRules();
    void moduleTreeFoldsIdenticalLayers();
    void moduleTreeWithoutFoldsShowsEveryLayer();
    void commonRowIsTheDeepestThatHoldsAll();
    void figuresAreShortAndTooltipsExact();
    void tablesSortByRawNumbers();
    void filterKeepsParentsOfMatches();
    void findingTexts();
    void unusualInputs();
    void sharesAreWholeInTheLowestRow();
};

void ModelsTest::everyModelKeepsTheRules() {
    using Mode = QAbstractItemModelTester::FailureReportingMode;
    ModuleTreeModel modules;
    KernelTableModel kernels;
    OpTableModel ops;
    FindingModel findings;
    FilterProxy proxy;
    proxy.setSourceModel(&modules);
    QAbstractItemModelTester t1(&modules, Mode::QtTest), t2(&kernels, Mode::QtTest), t3(&ops, Mode::QtTest),
        t4(&findings, Mode::QtTest), t5(&proxy, Mode::QtTest);
    const AnalysisPtr analysis = testing::syntheticAnalysis();
    for (const AnalysisPtr& shown : {analysis, AnalysisPtr(), analysis}) {
        modules.setAnalysis(shown);
        kernels.setAnalysis(shown);
        ops.setAnalysis(shown);
        findings.setAnalysis(shown);
    }
    proxy.setWords(QStringLiteral("mlp"));
    proxy.setWords(QString());
    proxy.sort(ModuleTreeModel::TimeColumn, Qt::DescendingOrder);
    kernels.setTheme(Theme::Dark);
    QCOMPARE(kernels.rowCount(), static_cast<int>(analysis->kernels.size()));
    QCOMPARE(ops.rowCount(), static_cast<int>(analysis->ops.size()));
    QCOMPARE(findings.rowCount(), static_cast<int>(analysis->findings.size()));
    QCOMPARE(modules.rowCount(), 1);
}

void ModelsTest::moduleTreeFoldsIdenticalLayers() {
    Analysis value = testing::syntheticAnalysisValue();
    ModuleTree& tree = value.link.modules;
    value.modules.assign(tree.modules.size(), {});
    std::vector<ModuleId> layers;
    for (int l = 0; l < 4; ++l) {
        const ModuleId id = tree.find("model.layers." + std::to_string(l));
        QVERIFY(id.valid());
        layers.push_back(id);
    }
    tree.folds = {{layers}};
    for (Module& module : tree.modules) module.fold_group = Id<struct FoldTag>::kNone;
    for (const ModuleId id : layers) tree.modules[id.index()].fold_group = 0;
    for (std::size_t m = 0; m < value.modules.size(); ++m) value.modules[m] = {10, 100e9, 1000, 2000, 0.01, ""};

    ModuleTreeModel model;
    model.setAnalysis(std::make_shared<const Analysis>(std::move(value)));
    const QModelIndex fold = findRow(model, QStringLiteral("layers 0–3 ×4"));
    QVERIFY(fold.isValid());
    QCOMPARE(model.copiesAt(fold), 4);
    QVERIFY(!findRow(model, QStringLiteral("layers 1")).isValid());
    QCOMPARE(fold.siblingAtColumn(ModuleTreeModel::ParametersColumn).data(SortRole).toLongLong(), 40);
    QCOMPARE(fold.siblingAtColumn(ModuleTreeModel::FlopsColumn).data(SortRole).toDouble(), 400e9);
    QCOMPARE(fold.siblingAtColumn(ModuleTreeModel::FlopsColumn).data().toString(), QStringLiteral("400 G"));
    QCOMPARE(fold.siblingAtColumn(ModuleTreeModel::TimeColumn).data(SortRole).toDouble(), 12000.0);
    QCOMPARE(fold.siblingAtColumn(ModuleTreeModel::ShareColumn).data(ShareRole).toDouble(), 0.04);
    // The representative is picked; every copy leads to this row, and what is below them to the rows below.
    QCOMPARE(model.moduleAt(fold), layers[0]);
    QCOMPARE(model.indexOf(layers[3]), fold);
    const QModelIndex mlp = findRow(model, QStringLiteral("mlp"), fold);
    QVERIFY(mlp.isValid());
    QCOMPARE(mlp.siblingAtColumn(ModuleTreeModel::ParametersColumn).data(SortRole).toLongLong(), 40);
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
}

void ModelsTest::moduleTreeWithoutFoldsShowsEveryLayer() {
    Analysis value = testing::syntheticAnalysisValue();
    value.link.modules.folds.clear();
    for (Module& module : value.link.modules.modules) module.fold_group = Id<struct FoldTag>::kNone;
    const std::size_t modules = value.link.modules.modules.size();
    ModuleTreeModel model;
    model.setAnalysis(std::make_shared<const Analysis>(std::move(value)));
    for (std::size_t m = 0; m < modules; ++m) QCOMPARE(model.moduleAt(model.indexOf(ModuleId(m))), ModuleId(m));
    QVERIFY(findRow(model, QStringLiteral("layers 3")).isValid());
}

void ModelsTest::commonRowIsTheDeepestThatHoldsAll() {
    const AnalysisPtr analysis = testing::syntheticAnalysis();
    const ModuleTree& tree = analysis->link.modules;
    ModuleTreeModel model;
    model.setAnalysis(analysis);
    const ModuleId gate = tree.find("model.layers.0.mlp.gate_proj"), up = tree.find("model.layers.0.mlp.up_proj"),
                   mlp = tree.find("model.layers.0.mlp"), head = tree.find("lm_head");
    QVERIFY(gate.valid() && up.valid() && mlp.valid() && head.valid());
    QCOMPARE(model.commonRow({gate, up}), model.indexOf(mlp));
    QCOMPARE(model.commonRow({gate}), model.indexOf(gate));
    QCOMPARE(model.commonRow({gate, head}), model.index(0, 0));
    QVERIFY(!model.commonRow({}).isValid());
    QVERIFY(!model.commonRow({ModuleId()}).isValid());
}

void ModelsTest::figuresAreShortAndTooltipsExact() {
    Analysis value = testing::syntheticAnalysisValue();
    value.ops.front().time_ns = 1'234'567;
    OpTableModel model;
    model.setAnalysis(std::make_shared<const Analysis>(std::move(value)));
    const QModelIndex total = model.index(0, OpTableModel::TotalColumn);
    QCOMPARE(total.data().toString(), QStringLiteral("1.23 ms"));
    QVERIFY(total.data(Qt::ToolTipRole).toString().contains(QLatin1String("1,234,567 ns")));
    QCOMPARE(total.data(SortRole).toDouble(), 1'234'567.0);
    QVERIFY((total.data(Qt::TextAlignmentRole).toInt() & Qt::AlignRight) != 0);
    QVERIFY((model.index(0, OpTableModel::OpColumn).data(Qt::TextAlignmentRole).toInt() & Qt::AlignLeft) != 0);
    QVERIFY(!model.index(0, OpTableModel::KindColumn).data(Qt::DecorationRole).isNull());
}

void ModelsTest::tablesSortByRawNumbers() {
    KernelTableModel model;
    model.setAnalysis(testing::syntheticAnalysis());
    FilterProxy proxy;
    proxy.setSourceModel(&model);
    for (int column = 0; column < model.columnCount(); ++column) {
        proxy.sort(column, Qt::AscendingOrder);
        for (int row = 1; row < proxy.rowCount(); ++row) {
            const QVariant before = proxy.index(row - 1, column).data(SortRole),
                           here = proxy.index(row, column).data(SortRole);
            if (here.userType() == QMetaType::QString)
                QVERIFY(before.toString().compare(here.toString(), Qt::CaseInsensitive) <= 0);
            else
                QVERIFY(before.toDouble() <= here.toDouble());
        }
    }
}

void ModelsTest::filterKeepsParentsOfMatches() {
    ModuleTreeModel model;
    model.setAnalysis(testing::syntheticAnalysis());
    FilterProxy proxy;
    proxy.setSourceModel(&model);
    proxy.setWords(QStringLiteral("GATE_proj"));
    const QModelIndex gate = findRow(proxy, QStringLiteral("gate_proj"));
    QVERIFY(gate.isValid());
    QVERIFY(gate.parent().isValid()); // its parents stay
    QVERIFY(!findRow(proxy, QStringLiteral("down_proj")).isValid());
    proxy.setWords(QStringLiteral("no such module"));
    QCOMPARE(proxy.rowCount(), 0);
    proxy.setWords(QStringLiteral("  "));
    QCOMPARE(proxy.rowCount(), 1);
}

void ModelsTest::findingTexts() {
    Finding f;
    f.id = "pointwise_chain.2";
    f.saving_ns = {12.0e6, 13.1e6, 14.2e6};
    f.kernels_now = 8;
    f.kernels_fused = 1;
    f.instances.resize(9);
    f.verdict = Verdict::WorthIt;
    QVERIFY(titleOf(f).endsWith(QLatin1String("#2")));
    QCOMPARE(savingText(f), QStringLiteral("−13.1 ms/step"));
    QCOMPARE(savingRangeText(f), QStringLiteral("(12.0–14.2 ms)"));
    QCOMPARE(kernelsText(f), QStringLiteral("9× · 8→1 kernels"));
    f.kernels_now = 24.75; // an average: no kernel comes in parts
    QCOMPARE(kernelsText(f), QStringLiteral("9× · ≈25→1 kernels"));
    f.kernels_now = 8;
    QCOMPARE(durationRange(0.9e6, 1.4e6), QStringLiteral("0.90–1.40 ms"));
    QCOMPARE(colourOf(Verdict::WorthIt), ColourRole::Flagged);
    f.verdict = Verdict::AlreadyFused;
    QCOMPARE(headroomText(f), QString());
    f.headroom = "A mask.";
    f.headroom_ns = 2e6;
    QCOMPARE(headroomText(f), QStringLiteral("up to −2.00 ms/step left"));
    QVERIFY(savingRangeText(f).isEmpty());
}

void ModelsTest::unusualInputs() {
    for (const bool trace : {false, true}) {
        testing::SyntheticOptions options;
        options.trace = trace;
        options.graph = !trace;
        options.findings = false;
        options.name_suffix = "<b>\xff\n\t%1";
        const AnalysisPtr analysis = testing::syntheticAnalysis(options);
        ModuleTreeModel modules;
        KernelTableModel kernels;
        OpTableModel ops;
        FindingModel findings;
        for (auto* model : {static_cast<QAbstractItemModel*>(&modules), static_cast<QAbstractItemModel*>(&kernels),
                            static_cast<QAbstractItemModel*>(&ops), static_cast<QAbstractItemModel*>(&findings)})
            QVERIFY(!model->index(0, 0).isValid());
        modules.setAnalysis(analysis);
        kernels.setAnalysis(analysis);
        ops.setAnalysis(analysis);
        findings.setAnalysis(analysis);
        for (int row = 0; row < kernels.rowCount(); ++row)
            for (int column = 0; column < kernels.columnCount(); ++column)
                for (const int role : {int{Qt::DisplayRole}, int{Qt::ToolTipRole}, int{SortRole}})
                    (void)kernels.index(row, column).data(role);
        for (int row = 0; row < ops.rowCount(); ++row)
            for (int column = 0; column < ops.columnCount(); ++column)
                for (const int role : {int{Qt::DisplayRole}, int{Qt::ToolTipRole}, int{SortRole}})
                    (void)ops.index(row, column).data(role);
        if (!trace) QCOMPARE(kernels.rowCount(), 0);
    }
}

// A row as high as its letters shows all of them: as much of their colour as a high one.
void ModelsTest::sharesAreWholeInTheLowestRow() {
    Session session;
    const ShareBarDelegate delegate(&session);
    QStandardItemModel model(1, 1);
    const QModelIndex index = model.index(0, 0);
    model.setData(index, QStringLiteral("5.27%"));
    model.setData(index, 0.01, ShareRole);
    QStyleOptionViewItem option;
    option.palette.setColor(QPalette::Text, Qt::black);
    option.font.setPixelSize(12);
    option.fontMetrics = QFontMetrics(option.font);
    const auto ink = [&](int height) {
        QImage image(100, height, QImage::Format_RGB32);
        image.fill(Qt::white);
        option.rect = image.rect();
        QPainter painter(&image);
        delegate.paint(&painter, option, index);
        painter.end();
        int dark = 0;
        for (int y = 0; y < height; ++y)
            for (int x = 20; x < 100; ++x) dark += 255 - qGray(image.pixel(x, y));
        return dark;
    };
    const int lowest = option.fontMetrics.height();
    QVERIFY(ink(lowest + 30) > 0);
    QCOMPARE(ink(lowest), ink(lowest + 30));
    QVERIFY(delegate.sizeHint(option, index).height() > lowest);
}

QTEST_MAIN(ModelsTest)
#include "models_test.moc"
