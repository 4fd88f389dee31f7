// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model_panel.h"

#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/fuse/region_words.h"
#include "ui/models/delegates.h"
#include "ui/models/filter_proxy.h"
#include "ui/models/module_tree_model.h"

#include <QAction>
#include <QDataStream>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>
#include <QResizeEvent>
#include <QStackedLayout>
#include <QTreeView>

#include <algorithm>

namespace fusescope {
namespace {

constexpr int kOpenRows = 40; // about a screen: no more is unfolded at first
// Narrower than this, FLOPs and then parameters step aside for the names.
constexpr int kNarrow = 400, kNarrower = 320;

class Tree : public QTreeView {
public:
    using QTreeView::QTreeView;
    bool columns_by_width = true; // until somebody chooses columns
    bool widths_by_font = true;   // until somebody drags one
    bool fitting = false;         // they change because of the room
    bool timed = false;           // there is a trace: without one, times are empty and FLOPs take their place
    bool counted = false;         // there is a graph: a trace knows no parameters

    void fitColumns() {
        fitting = true;
        if (columns_by_width) { // names come first: figures give way one by one
            setColumnHidden(ModuleTreeModel::FlopsColumn, timed && viewport()->width() < kNarrow);
            setColumnHidden(ModuleTreeModel::ParametersColumn, timed && (viewport()->width() < kNarrower || !counted));
            for (const int column : {ModuleTreeModel::TimeColumn, ModuleTreeModel::ShareColumn})
                setColumnHidden(column, !timed);
        }
        if (widths_by_font) fitWidths();
        fitting = false;
    }
    void fitWidths() const {
        const QFontMetrics metrics(font());
        const auto wide = [&](const char* sample) { return metrics.horizontalAdvance(QLatin1String(sample)) + 14; };
        header()->resizeSection(ModuleTreeModel::ParametersColumn, std::max(wide("88.8 M"), wide("Params")));
        header()->resizeSection(ModuleTreeModel::FlopsColumn, wide("88.8 T"));
        header()->resizeSection(ModuleTreeModel::TimeColumn, wide("88.8 ms"));
        header()->resizeSection(ModuleTreeModel::ShareColumn, std::max(wide("100.0%") + 4, wide("Kernel %")));
    }

protected:
    void resizeEvent(QResizeEvent* event) override {
        QTreeView::resizeEvent(event);
        fitColumns();
    }
};

// Rows gathered with Ctrl or Shift are for copying: picking would let go of the others.
bool extending() { return (QGuiApplication::keyboardModifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) != 0; }

} // namespace

struct ModelPanel::Impl {
    Impl(ModelPanel* owner, Session* s) : panel(owner), session(s) {}

    ModelPanel* panel;
    Session* session;
    ModuleTreeModel* model = nullptr;
    FilterProxy* proxy = nullptr;
    Tree* tree = nullptr;
    QAction* fuse = nullptr; // the chosen module
    EmptyNote* empty = nullptr;
    QStackedLayout* stack = nullptr;
    bool following = false; // the selection comes from the session

    void showAnalysis() {
        following = true;
        model->setAnalysis(session->analysis());
        tree->timed = session->analysis() && session->analysis()->trace;
        tree->counted = session->analysis() && session->analysis()->graph;
        tree->fitColumns();
        following = false;
        expandAtFirst();
        stack->setCurrentWidget(model->rowCount() > 0 ? static_cast<QWidget*>(tree) : empty);
        if (session->analysis())
            empty->setText(tr("No modules in this file"),
                           tr("Record the trace with with_modules=True, or open a graph (.pt2) beside it."));
        else
            empty->setText(tr("No model open"),
                           tr("Open a graph (.pt2) or a trace (.json, .json.gz): drop it here or press Ctrl+O."));
    }

    // Level by level, as far as a screen holds; folded layers open, so that one layer's blocks are seen.
    void expandAtFirst() const {
        std::vector<QModelIndex> level{model->index(0, 0)};
        int shown = 1;
        for (int depth = 0; depth < 5 && !level.empty(); ++depth) {
            std::vector<QModelIndex> next;
            for (const QModelIndex& row : level) {
                const int below = model->rowCount(row);
                if (below == 0 || shown + below > kOpenRows) continue;
                // Below a folded layer everything is of interest; of other deep rows nothing is.
                if (depth > 3 && model->copiesAt(row) < 2 && !holdsFold(row)) continue;
                tree->expand(proxy->mapFromSource(row));
                shown += below;
                for (int i = 0; i < below; ++i) next.push_back(model->index(i, 0, row));
            }
            level = std::move(next);
        }
    }
    bool holdsFold(const QModelIndex& row) const {
        for (int i = 0; i < model->rowCount(row); ++i)
            if (model->copiesAt(model->index(i, 0, row)) > model->copiesAt(row)) return true;
        return false;
    }

    void showSelection() {
        const SelectionSets& selection = session->selection();
        QModelIndex row;
        if (selection.pick.kind == PickKind::Module)
            row = model->indexOf(ModuleId(std::size_t{selection.pick.id}));
        else if (selection.pick.kind != PickKind::None)
            row = model->commonRow(selection.modules);
        following = true;
        QItemSelection rows;
        const auto add = [&](const QModelIndex& source) {
            const QModelIndex mapped = proxy->mapFromSource(source);
            if (mapped.isValid()) rows.select(mapped, mapped.siblingAtColumn(ModuleTreeModel::ColumnCount - 1));
        };
        if (selection.pick.kind == PickKind::Module)
            add(row);
        else
            for (const ModuleId module : selection.modules) {
                const QModelIndex source = model->indexOf(module);
                if (source.isValid()) add(source);
                if (rows.size() > 500) break;
            }
        const QModelIndex current = proxy->mapFromSource(row);
        QItemSelectionModel* chosen = tree->selectionModel();
        chosen->setCurrentIndex(current, QItemSelectionModel::NoUpdate);
        chosen->select(rows, QItemSelectionModel::ClearAndSelect);
        if (current.isValid()) tree->scrollTo(current);
        following = false;
        const bool module = selection.pick.kind == PickKind::Module && session->analysis()->graph != nullptr;
        fuse->setEnabled(module);
        if (module)
            fuse->setText(fuseThisText(*session->analysis(), workOfPick(*session->analysis(), selection))
                              .replace(QLatin1Char('&'), QLatin1String("&&")));
    }

    void pickRow(const QModelIndex& index) const {
        const ModuleId module = model->moduleAt(proxy->mapToSource(index));
        if (!following && module.valid() && !extending()) session->pick({PickKind::Module, module.value});
    }
    void columnMenu(QPoint at) {
        QMenu menu;
        for (int column = ModuleTreeModel::ParametersColumn; column < ModuleTreeModel::ColumnCount; ++column) {
            QAction* action = menu.addAction(model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
            action->setCheckable(true);
            action->setChecked(!tree->isColumnHidden(column));
            QObject::connect(action, &QAction::toggled, panel, [this, column](bool on) {
                tree->columns_by_width = false;
                tree->setColumnHidden(column, !on);
            });
        }
        menu.exec(tree->header()->mapToGlobal(at));
    }
    void build();
};

void ModelPanel::Impl::build() {
    model = new ModuleTreeModel(panel);
    proxy = new FilterProxy(panel);
    proxy->setSourceModel(model);
    tree = new Tree(panel);
    tree->setModel(proxy);
    tree->setAccessibleName(tr("Model tree"));
    tree->setFrameShape(QFrame::NoFrame);
    tree->setUniformRowHeights(true);
    tree->setAlternatingRowColors(false);
    tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree->setSelectionBehavior(QAbstractItemView::SelectRows);
    tree->setEditTriggers(QAbstractItemView::NoEditTriggers);
    tree->setExpandsOnDoubleClick(false);
    tree->setIndentation(10);
    tree->setTextElideMode(Qt::ElideRight);
    tree->setAllColumnsShowFocus(true);
    tree->setSortingEnabled(true);
    tree->header()->setSortIndicatorShown(false); // the proxy marks the column: the arrow would cover the words
    tree->sortByColumn(ModuleTreeModel::ModuleColumn, Qt::AscendingOrder);
    tree->setItemDelegateForColumn(ModuleTreeModel::ModuleColumn, new NotedNameDelegate(session, tree));
    tree->setItemDelegateForColumn(ModuleTreeModel::ShareColumn, new ShareBarDelegate(session, tree));
    QHeaderView* header = tree->header();
    header->setStretchLastSection(false);
    header->setMinimumSectionSize(32);
    header->setSectionResizeMode(ModuleTreeModel::ModuleColumn, QHeaderView::Stretch);
    header->setSectionsMovable(false);
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    // Of the tree alone: the panel's end resizes its columns, too.
    QObject::connect(header, &QHeaderView::sectionResized, tree, [view = tree](int column, int before, int now) {
        // Hidden ones have none; names take what is left.
        if (!view->fitting && column != ModuleTreeModel::ModuleColumn && before > 0 && now > 0)
            view->widths_by_font = false;
    });
    QObject::connect(header, &QHeaderView::customContextMenuRequested, panel, [this](QPoint at) { columnMenu(at); });

    const auto action = [this](const QString& label, const QKeySequence& keys) {
        auto* added = new QAction(label, tree);
        added->setShortcut(keys);
        added->setShortcutContext(Qt::WidgetShortcut);
        tree->addAction(added);
        return added;
    };
    QObject::connect(action(tr("Expand all"), QKeySequence(Qt::CTRL | Qt::Key_Plus)), &QAction::triggered, tree,
                     &QTreeView::expandAll);
    QObject::connect(action(tr("Collapse all"), QKeySequence(Qt::CTRL | Qt::Key_Minus)), &QAction::triggered, panel,
                     [this] {
                         tree->collapseAll();
                         tree->expand(proxy->index(0, 0));
                     });
    // As in the graph's menu; a module is run with the plan's fusions where some lie inside.
    fuse = new QAction(tr("Measure with the plan's fusions"), tree);
    fuse->setEnabled(false);
    QObject::connect(fuse, &QAction::triggered, panel, [this] { // not what else is marked: it names the module
        if (session->analysis()) session->wantRegion(workOfPick(*session->analysis(), session->selection()).wish);
    });
    tree->addAction(fuse);
    addCopyAction(*tree);

    empty = new EmptyNote(session, panel);
    stack = new QStackedLayout(panel);
    stack->setContentsMargins(0, 0, 0, 0);
    stack->addWidget(empty);
    stack->addWidget(tree);

    // clicked as well: the current row stays current while the session shows something else.
    QObject::connect(tree, &QTreeView::clicked, panel, [this](const QModelIndex& index) { pickRow(index); });
    // Moving by keys picks; the first row that the view makes current when it gets the focus does not.
    QObject::connect(tree->selectionModel(), &QItemSelectionModel::currentRowChanged, panel,
                     [this](const QModelIndex& index, const QModelIndex& before) {
                         if (before.isValid()) pickRow(index);
                     });
    QObject::connect(tree, &QTreeView::activated, panel, [this](const QModelIndex& index) {
        const ModuleId module = model->moduleAt(proxy->mapToSource(index));
        if (module.valid()) Q_EMIT panel->moduleActivated(module);
    });
    QObject::connect(session, &Session::analysisChanged, panel, [this] { showAnalysis(); });
    QObject::connect(session, &Session::selectionChanged, panel, [this] { showSelection(); });
    QObject::connect(session, &Session::themeChanged, tree, [this] { useQuietSelection(*tree, session->theme()); });
    useQuietSelection(*tree, session->theme());
    tree->fitColumns();
    showAnalysis();
    showSelection();
}

ModelPanel::ModelPanel(Session* session, QWidget* parent)
    : QWidget(parent), impl_(std::make_unique<Impl>(this, session)) {
    impl_->build();
}
ModelPanel::~ModelPanel() = default;

QByteArray ModelPanel::columns() const {
    const Tree& tree = *impl_->tree;
    if (tree.columns_by_width && tree.widths_by_font) return {};
    QByteArray state;
    QDataStream out(&state, QIODevice::WriteOnly);
    out << tree.columns_by_width << tree.widths_by_font << tree.header()->saveState();
    return state;
}

void ModelPanel::setColumns(const QByteArray& state) {
    Tree& tree = *impl_->tree;
    QDataStream in(state);
    bool by_width = true, by_font = true;
    QByteArray header;
    in >> by_width >> by_font >> header;
    tree.fitting = true;
    const bool good = in.status() == QDataStream::Ok && tree.header()->restoreState(header);
    tree.columns_by_width = by_width || !good;
    tree.widths_by_font = by_font || !good;
    tree.fitColumns();
}

void ModelPanel::setFilter(const QString& text) {
    impl_->following = true; // rows that leave must not pick others
    impl_->proxy->setWords(text);
    impl_->following = false;
    if (impl_->proxy->filtering()) impl_->tree->expandAll();
    impl_->showSelection();
}

} // namespace fusescope
