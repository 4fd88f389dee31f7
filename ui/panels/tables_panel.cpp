// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/tables_panel.h"

#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/models/delegates.h"
#include "ui/models/filter_proxy.h"
#include "ui/models/step_tables.h"

#include <QGuiApplication>
#include <QHeaderView>
#include <QStackedLayout>
#include <QTabBar>
#include <QTabWidget>
#include <QTableView>

#include <algorithm>
#include <vector>

namespace fusescope {
namespace {

struct Table { // one tab
    StepTableModel* model = nullptr;
    FilterProxy* proxy = nullptr;
    QTableView* view = nullptr;
};

constexpr int kRowHeight = 24;

// Rows gathered with Ctrl or Shift are for copying: picking would let go of the others.
bool extending() { return (QGuiApplication::keyboardModifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) != 0; }

} // namespace

struct TablesPanel::Impl {
    Impl(TablesPanel* owner, Session* s) : panel(owner), session(s) {}

    TablesPanel* panel;
    Session* session;
    KernelTableModel* kernel_model = nullptr;
    OpTableModel* op_model = nullptr;
    Table kernels, ops;
    QTabWidget* tabs = nullptr;
    EmptyNote* empty = nullptr;
    QStackedLayout* stack = nullptr;
    bool following = false;
    bool unseen = false;                  // the selection changed while the tables were behind another tab
    std::vector<std::int32_t> kernel_row; // by KernelId, -1 = not in the table

    Table addTable(StepTableModel* model, const QString& name, int share_column, int sort_column, PickKind kind) {
        Table t;
        t.model = model;
        t.proxy = new FilterProxy(panel);
        t.proxy->setSourceModel(model);
        t.view = new QTableView(tabs);
        t.view->setModel(t.proxy);
        t.view->setAccessibleName(name);
        t.view->setFrameShape(QFrame::NoFrame);
        t.view->setShowGrid(false);
        t.view->setWordWrap(false);
        t.view->setTextElideMode(Qt::ElideMiddle);
        t.view->setIconSize(QSize(10, 10));
        t.view->setSelectionMode(QAbstractItemView::ExtendedSelection);
        t.view->setSelectionBehavior(QAbstractItemView::SelectRows);
        t.view->setEditTriggers(QAbstractItemView::NoEditTriggers);
        t.view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
        t.view->setTabKeyNavigation(false); // Tab leaves the table
        t.view->setCornerButtonEnabled(false);
        t.view->verticalHeader()->hide();
        t.view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
        t.view->verticalHeader()->setMinimumSectionSize(kRowHeight);
        t.view->verticalHeader()->setDefaultSectionSize(kRowHeight);
        t.view->horizontalHeader()->setHighlightSections(false);
        t.view->horizontalHeader()->setStretchLastSection(false);
        t.view->horizontalHeader()->setMinimumSectionSize(40);
        t.view->horizontalHeader()->setSectionsMovable(true);
        t.view->setItemDelegateForColumn(share_column, new ShareBarDelegate(session, t.view));
        t.view->setSortingEnabled(true);
        t.view->horizontalHeader()->setSortIndicatorShown(
            false); // the proxy marks the column: the arrow would cover the words
        t.view->sortByColumn(sort_column, Qt::DescendingOrder);
        addCopyAction(*t.view);
        tabs->addTab(t.view, name);
        const auto pick = [this, proxy = t.proxy, kind](const QModelIndex& index) {
            if (following || !index.isValid() || extending()) return;
            session->pick({kind, index.data(PickIdRole).toUInt()});
        };
        QObject::connect(t.view, &QTableView::clicked, panel, pick);
        QObject::connect(t.view->selectionModel(), &QItemSelectionModel::currentRowChanged, panel, pick);
        QObject::connect(session, &Session::themeChanged, t.view, [model, view = t.view, s = session] {
            model->setTheme(s->theme());
            useQuietSelection(*view, s->theme());
        });
        model->setTheme(session->theme());
        useQuietSelection(*t.view, session->theme());
        return t;
    }

    void setWidths() const {
        const auto widths = [](QTableView* view, std::initializer_list<int> list) {
            int column = 0;
            for (const int width : list) view->setColumnWidth(column++, width);
        };
        widths(kernels.view, {296, 112, 56, 80, 80, 80, 80, 80, 64});
        widths(ops.view, {144, 104, 80, 128, 48, 72, 72, 72, 64, 96, 80, 72, 64});
        kernels.view->horizontalHeader()->setSectionResizeMode(KernelTableModel::NameColumn, QHeaderView::Stretch);
    }

    void showAnalysis() {
        following = true;
        const AnalysisPtr& analysis = session->analysis();
        kernel_row.clear();
        if (analysis && analysis->trace) {
            kernel_row.assign(analysis->trace->kernels.size(), -1);
            for (std::size_t row = 0; row < analysis->kernels.size(); ++row)
                for (const KernelId kernel : analysis->kernels[row].kernels)
                    if (kernel.index() < kernel_row.size()) kernel_row[kernel.index()] = static_cast<std::int32_t>(row);
        }
        kernels.model->setAnalysis(analysis);
        ops.model->setAnalysis(analysis);
        tabs->setTabText(0, analysis ? tr("Kernels  %1").arg(analysis->kernels.size()) : tr("Kernels"));
        tabs->setTabText(1, analysis ? tr("Operators  %1").arg(analysis->ops.size()) : tr("Operators"));
        const bool some = analysis && (!analysis->kernels.empty() || !analysis->ops.empty());
        stack->setCurrentWidget(some ? static_cast<QWidget*>(tabs) : empty);
        if (!analysis)
            empty->setText(tr("No trace open"),
                           tr("Open a profiler trace (.json, .json.gz) to see its kernels and operators."));
        else if (!analysis->trace)
            empty->setText(tr("A graph has no measured times"),
                           tr("Open a profiler trace of the same model beside it."));
        else
            empty->setText(tr("No GPU kernels in this step"),
                           tr("Choose another step, or record with ProfilerActivity.CUDA."));
        following = false;
    }

    void selectRows(const Table& table, std::vector<int> rows, int current) const {
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        QItemSelection chosen;
        const int last = table.model->columnCount() - 1;
        int first_shown = -1; // the topmost one, as sorted
        for (const int row : rows) {
            const QModelIndex mapped = table.proxy->mapFromSource(table.model->index(row, 0));
            if (!mapped.isValid()) continue;
            chosen.select(mapped, mapped.siblingAtColumn(last));
            if (first_shown < 0 || mapped.row() < first_shown) first_shown = mapped.row();
        }
        QModelIndex at = current >= 0 ? table.proxy->mapFromSource(table.model->index(current, 0)) : QModelIndex();
        if (!at.isValid() && first_shown >= 0) at = table.proxy->index(first_shown, 0);
        table.view->selectionModel()->setCurrentIndex(at, QItemSelectionModel::NoUpdate);
        table.view->selectionModel()->select(chosen, QItemSelectionModel::ClearAndSelect);
        if (at.isValid())
            table.view->scrollTo(at);
        else if (unseen)
            table.view->scrollToTop(); // of what was selected before, nobody knows here
    }

    void showSelection() {
        const SelectionSets& selection = session->selection();
        following = true;
        unseen = unseen || !panel->isVisible();
        std::vector<int> rows;
        int current = -1;
        std::vector<bool> taken(session->analysis() ? session->analysis()->kernels.size() : 0);
        for (const KernelId kernel : selection.kernels) {
            if (kernel.index() >= kernel_row.size() || kernel_row[kernel.index()] < 0) continue;
            const auto row = static_cast<std::size_t>(kernel_row[kernel.index()]);
            if (selection.pick.kind == PickKind::Kernel && kernel.value == selection.pick.id)
                current = static_cast<int>(row);
            if (!taken[row]) rows.push_back(static_cast<int>(row));
            taken[row] = true;
        }
        selectRows(kernels, std::move(rows), current);
        rows.clear();
        for (const std::uint32_t op : selection.ops) rows.push_back(static_cast<int>(op));
        selectRows(ops, std::move(rows),
                   selection.pick.kind == PickKind::Op ? static_cast<int>(selection.pick.id) : -1);
        following = false;
    }

    void build() {
        tabs = new QTabWidget(panel);
        tabs->setDocumentMode(true);
        tabs->setAccessibleName(tr("Tables"));
        tabs->tabBar()->setAccessibleName(tr("Choice of table"));
        kernel_model = new KernelTableModel(panel);
        op_model = new OpTableModel(panel);
        kernels = addTable(kernel_model, tr("Kernels"), KernelTableModel::ShareColumn, KernelTableModel::TotalColumn,
                           PickKind::Kernel);
        ops = addTable(op_model, tr("Operators"), OpTableModel::ShareColumn, OpTableModel::TotalColumn, PickKind::Op);
        kernels.view->setObjectName(QStringLiteral("kernels"));
        ops.view->setObjectName(QStringLiteral("operators"));
        setWidths();
        empty = new EmptyNote(session, panel);
        stack = new QStackedLayout(panel);
        stack->setContentsMargins(0, 0, 0, 0);
        stack->addWidget(empty);
        stack->addWidget(tabs);
        QObject::connect(session, &Session::analysisChanged, panel, [this] { showAnalysis(); });
        QObject::connect(session, &Session::selectionChanged, panel, [this] { showSelection(); });
        showAnalysis();
        showSelection();
    }
};

TablesPanel::TablesPanel(Session* session, QWidget* parent)
    : QWidget(parent), impl_(std::make_unique<Impl>(this, session)) {
    impl_->build();
}
TablesPanel::~TablesPanel() = default;

void TablesPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (!impl_->unseen) return;
    // Once the views have their size: a row is scrolled to by it.
    QMetaObject::invokeMethod(
        this,
        [this] {
            impl_->showSelection();
            impl_->unseen = false;
        },
        Qt::QueuedConnection);
}

void TablesPanel::setFilter(const QString& text) {
    impl_->following = true;
    impl_->kernels.proxy->setWords(text);
    impl_->ops.proxy->setWords(text);
    impl_->showSelection();
}

} // namespace fusescope
