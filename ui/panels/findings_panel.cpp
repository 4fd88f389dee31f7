// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/findings_panel.h"

#include "core/analysis/step_text.h"
#include "core/base/format.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/empty_note.h"
#include "ui/base/paint.h"
#include "ui/fuse/fuse_bar.h"
#include "ui/fuse/fuse_words.h"
#include "ui/fuse/region_words.h"
#include "ui/models/filter_proxy.h"
#include "ui/models/finding_model.h"
#include "ui/panels/finding_card.h"
#include "ui/panels/finding_text.h"

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QListView>
#include <QScrollBar>
#include <QSplitter>
#include <QStackedLayout>
#include <QTextBrowser>
#include <QTextDocument>
#include <QUrl>
#include <QVBoxLayout>

#include <algorithm>

namespace fusescope {
namespace {
constexpr int kWhole = 1000; // of the height
}

struct FindingsPanel::Impl {
    Impl(FindingsPanel* owner, Session* s) : panel(owner), session(s) {}

    FindingsPanel* panel;
    Session* session;
    FindingModel* model = nullptr;
    FilterProxy* proxy = nullptr;
    QLabel *plan = nullptr, *plan_note = nullptr;
    QListView* list = nullptr;
    QTextBrowser* detail = nullptr;
    QSplitter* split = nullptr;
    int detail_share = kWhole / 2;
    QWidget* content = nullptr;
    QVBoxLayout* detail_column = nullptr; // actions on the chosen finding go to its end
    EmptyNote* empty = nullptr;
    QStackedLayout* stack = nullptr;
    FindingCardDelegate* cards = nullptr;
    FuseQueue* queue = nullptr;
    FuseBar* bar = nullptr;
    QAction *fuse = nullptr, *remove = nullptr;
    std::vector<bool> lines; // which cards have the line about the measurement
    bool following = false;
    int shown = -1; // row of the finding in the pane below, -1 = none

    void build() {
        model = new FindingModel(panel);
        proxy = new FilterProxy(panel);
        proxy->setSourceModel(model);
        content = new QWidget(panel);
        auto* column = new QVBoxLayout(content);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(0);
        for (QLabel** label : {&plan, &plan_note}) {
            *label = new QLabel(content);
            (*label)->setTextFormat(Qt::PlainText);
            (*label)->setWordWrap(true);
            (*label)->setTextInteractionFlags(Qt::TextSelectableByMouse);
            column->addWidget(*label);
        }
        plan->setContentsMargins(16, 8, 16, 0);
        plan_note->setContentsMargins(16, 0, 16, 8);

        list = new QListView(content);
        list->setModel(proxy);
        list->setAccessibleName(tr("Findings"));
        list->setFrameShape(QFrame::NoFrame);
        cards = new FindingCardDelegate(session, list);
        list->setItemDelegate(cards);
        list->setSelectionMode(QAbstractItemView::ExtendedSelection);
        list->setEditTriggers(QAbstractItemView::NoEditTriggers);
        list->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
        list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        list->setResizeMode(QListView::Adjust);
        list->verticalScrollBar()->setSingleStep(24);
        auto* copy = new QAction(tr("Copy as Markdown"), list);
        copy->setShortcut(QKeySequence::Copy);
        copy->setShortcutContext(Qt::WidgetShortcut);
        list->addAction(copy);
        list->setContextMenuPolicy(Qt::ActionsContextMenu);
        QObject::connect(copy, &QAction::triggered, panel, [this] {
            const QString words = panel->copyText();
            if (!words.isEmpty()) QGuiApplication::clipboard()->setText(words);
        });

        detail = new QTextBrowser(content);
        detail->setAccessibleName(tr("Details of the chosen finding"));
        detail->setFrameShape(QFrame::NoFrame);
        detail->setOpenLinks(false);
        detail->document()->setDocumentMargin(16);
        QObject::connect(detail, &QTextBrowser::anchorClicked, panel, [this](const QUrl& url) { follow(url); });
        auto* below = new QWidget(content);
        detail_column = new QVBoxLayout(below);
        detail_column->setContentsMargins(0, 0, 0, 0);
        detail_column->setSpacing(0);
        detail_column->addWidget(detail);

        split = new QSplitter(Qt::Vertical, content);
        split->setChildrenCollapsible(false);
        split->setHandleWidth(5);
        split->addWidget(list);
        split->addWidget(below);
        split->setStretchFactor(0, 1);
        split->setStretchFactor(1, 1);
        list->setMinimumHeight(96);
        detail->setMinimumHeight(40); // it scrolls; what went wrong, below it, does not
        column->addWidget(split, 1);
        below->hide();
        QObject::connect(split, &QSplitter::splitterMoved, panel, [this] {
            const QList<int> sizes = split->sizes();
            const int both = sizes[0] + sizes[1];
            if (shown >= 0 && both > 0) detail_share = kWhole * sizes[1] / both;
        });

        empty = new EmptyNote(session, panel);
        stack = new QStackedLayout(panel);
        stack->setContentsMargins(0, 0, 0, 0);
        stack->addWidget(empty);
        stack->addWidget(content);

        const auto pick = [this](const QModelIndex& index) {
            if (following || !index.isValid()) return;
            session->pick(session->pickOfWork(index.data(PickIdRole).toUInt()));
        };
        QObject::connect(list, &QListView::clicked, panel, pick);
        // Moving by keys picks; the first row that the view makes current when it gets the focus does not.
        QObject::connect(list->selectionModel(), &QItemSelectionModel::currentChanged, panel,
                         [pick](const QModelIndex& index, const QModelIndex& before) {
                             if (before.isValid()) pick(index);
                         });
        QObject::connect(session, &Session::analysisChanged, panel, [this] { showAnalysis(); });
        QObject::connect(session, &Session::selectionChanged, panel, [this] { showSelection(); });
        QObject::connect(session, &Session::measuredChanged, panel, [this] { showMeasured(); });
        QObject::connect(session, &Session::regionsChanged, panel, [this] { showRegions(); });
        QObject::connect(session, &Session::markedRangeChanged, panel, [this] { showBelow(); });
        QObject::connect(session, &Session::themeChanged, panel, [this] { restyle(); });
        restyle();
        showAnalysis();
        showSelection();
    }

    void restyle() {
        const auto colour = [this](ColourRole role) { return qColor(role, session->theme()); };
        const auto words = [&](QLabel* label, ColourRole role, const QFont& font) {
            QPalette own = paletteOf(session->theme());
            own.setColor(QPalette::WindowText, colour(role));
            label->setPalette(own);
            label->setFont(font);
        };
        words(plan, ColourRole::Text, uiFont(14, true));
        words(plan_note, ColourRole::TextMuted, uiFont(12));
        detail->setFont(uiFont(12));
        QPalette own = paletteOf(session->theme()); // whole: what is left out stays as it was in the other theme
        own.setColor(QPalette::Base, colour(ColourRole::Background));
        own.setColor(QPalette::Text, colour(ColourRole::Text));
        detail->setPalette(own);
        detail->viewport()->setPalette(own);
        list->viewport()->update();
        showDetail(shown, true);
    }

    void showAnalysis() {
        following = true;
        const AnalysisPtr& analysis = session->analysis();
        model->setAnalysis(analysis);
        model->setRegions(session->regions());
        model->setMeasured(session->measured());
        lines.clear();
        following = false;
        showDetail(-1, true);
        showStack();
        if (!analysis)
            empty->setText(tr("No findings yet"), tr("Open a graph (.pt2), a profiler trace, or both: what could run "
                                                     "as one kernel is listed here, best first."));
        else if (analysis->trace && !analysis->graph && analysis->trace->kernels.size() == 0)
            empty->setText(tr("No GPU kernel in this trace"),
                           tr("What could run as one kernel is looked for among the kernels of a step: record "
                              "ProfilerActivity.CUDA, and open the whole file."));
        else
            empty->setText(tr("Nothing here that one kernel could do better"),
                           tr("Looked for, unfused: %1").arg(text(searchedText())));
        if (!analysis) return;
        showPlan();
        list->scrollToTop();
    }

    void showStack() const { stack->setCurrentWidget(model->rowCount() > 0 ? content : static_cast<QWidget*>(empty)); }

    void showRegions() {
        following = true;
        model->setRegions(session->regions());
        model->setMeasured(session->measured());
        lines.clear();
        following = false;
        showStack();
        if (!session->analysis()) return;
        showPlan();
        showJobs();
        showSelection();
        showDetail(shown, true); // the same row may be another region, or one of another step
    }

    void showPlan() const {
        const AnalysisPtr& analysis = session->analysis();
        const MeasuredPlan& measured = session->measuredPlan();
        const QString whole = measured.any() ? measuredPlanText(*analysis, measured) : planText(*analysis);
        const std::size_t count = analysis->findings.size();
        plan->setText(!whole.isEmpty() ? whole : count == 1 ? tr("1 finding") : tr("%1 findings").arg(count));
        QString note;
        const bool estimated = std::any_of(analysis->findings.begin(), analysis->findings.end(),
                                           [](const Finding& f) { return f.time_estimated; });
        if (estimated)
            note = (analysis->trace ? tr("Not seen in the step: times are estimated from the roofline of %1")
                    : analysis->device.source == DeviceSource::Assumed
                        ? tr("No trace: times are estimated from the roofline of an assumed GPU, %1")
                        : tr("No trace: times are estimated from the roofline of %1"))
                       .arg(text(analysis->device.name));
        else if (measured.any())
            note = QStringList{tr("Findings overlap: the plan counts no kernel twice."),
                               planChangeText(*analysis, measured)}
                       .join(QLatin1Char(' '))
                       .trimmed();
        else if (!whole.isEmpty())
            note = text(planNote(*analysis)); // the list shows whole findings, and those overlap
        plan_note->setText(note);
        plan_note->setVisible(!note.isEmpty());
        plan->setContentsMargins(16, 8, 16, note.isEmpty() ? 8 : 0);
    }

    void setQueue(FuseQueue* q) {
        queue = q;
        cards->setQueue(q);
        bar = new FuseBar(session, q, detail_column->parentWidget());
        detail_column->addWidget(bar);
        QObject::connect(bar, &FuseBar::runnerWanted, panel, &FindingsPanel::runnerWanted);
        QObject::connect(cards, &FindingCardDelegate::fuseClicked, panel, [this](const QModelIndex& index) {
            toggle(static_cast<int>(index.data(PickIdRole).toUInt()));
        });
        fuse = new QAction(tr("Fuse"), list);
        fuse->setShortcut(Qt::Key_F);
        fuse->setShortcutContext(Qt::WidgetShortcut);
        QObject::connect(fuse, &QAction::triggered, panel, [this] { panel->fuseChosen(); });
        list->insertAction(list->actions().value(0), fuse);
        remove = new QAction(tr("Remove the region"), list);
        remove->setShortcut(QKeySequence::Delete);
        remove->setShortcutContext(Qt::WidgetShortcut);
        remove->setEnabled(false);
        QObject::connect(remove, &QAction::triggered, panel, [this] {
            if (shown >= 0) queue->removeRegion(static_cast<std::size_t>(shown));
        });
        list->addAction(remove);
        QObject::connect(queue, &FuseQueue::changed, panel, [this] { showJobs(); });
        bar->show(shown);
        showJobs();
    }

    void toggle(int row) const {
        if (row < 0) return;
        const auto at = static_cast<std::size_t>(row);
        if (queue->job(at).active())
            queue->cancel(at);
        else
            queue->fuse(at);
    }

    // Cards grow and shrink by a line.
    void showJobs() {
        std::vector<bool> now;
        for (int row = 0; row < model->rowCount(); ++row) now.push_back(cards->hasLine(model->index(row)));
        if (now != lines) {
            lines = std::move(now);
            list->doItemsLayout();
            list->scrollTo(list->currentIndex());
        }
        list->viewport()->update();
        updateAction();
    }

    void updateAction() const {
        if (fuse != nullptr)
            fuse->setEnabled(shown >= 0 && queue->reasonAgainst(static_cast<std::size_t>(shown)).isEmpty());
        if (remove != nullptr) remove->setEnabled(model->region(shown) != nullptr);
    }

    void showMeasured() {
        if (!session->analysis()) return;
        model->setMeasured(session->measured());
        showPlan();
        showJobs();
        showDetail(shown, true);
    }

    void showSelection() {
        const SelectionSets& selection = session->selection();
        std::vector<std::uint32_t> wanted = selection.findings;
        if (selection.pick.kind == PickKind::Region) {
            wanted.clear();
            for (std::size_t row = 0; row < session->workRows(); ++row)
                if (session->pickOfWork(row) == selection.pick) wanted.push_back(static_cast<std::uint32_t>(row));
        }
        following = true;
        QItemSelection rows;
        QModelIndex first;
        int row_of_first = -1; // the pane below speaks of a row that the filter shows
        for (const std::uint32_t row : wanted) {
            const QModelIndex index = proxy->mapFromSource(model->index(static_cast<int>(row), 0));
            if (!index.isValid()) continue;
            rows.select(index, index);
            if (first.isValid()) continue;
            first = index;
            row_of_first = static_cast<int>(row);
        }
        list->selectionModel()->setCurrentIndex(first, QItemSelectionModel::NoUpdate);
        list->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
        following = false;
        // Several nodes are chosen to be one region: what goes through them is not what is meant.
        showDetail(selection.pick.kind == PickKind::Nodes ? -1 : row_of_first, false);
        showBelow();
        if (first.isValid()) list->scrollTo(first);
    }

    // The chosen finding; of several (a kernel that two of them share) the best.
    void showDetail(int row, bool again) {
        if (row == shown && !again) return;
        shown = row;
        if (bar != nullptr) bar->show(row);
        updateAction();
        Q_EMIT panel->chosenChanged();
        const AnalysisPtr& analysis = session->analysis();
        if (row < 0 || !analysis || model->finding(row) == nullptr) {
            shown = -1;
            detail->clear();
        } else if (const ChosenRegion* own = model->region(row); own != nullptr) {
            const std::size_t at = static_cast<std::size_t>(row) - analysis->findings.size();
            const std::vector<RegionGain> gains =
                regionGains(*analysis, session->measured(), session->measuredPlan().plan, session->regions());
            detail->setHtml(regionHtml(*analysis, *own, model->measured(row), gains[at], session->theme()));
        } else {
            detail->setHtml(
                findingHtml(*analysis, static_cast<std::size_t>(row), session->theme(), model->measured(row)));
        }
        showBelow();
    }

    // The details, and below them what can be done: also with a selection that is no finding.
    void showBelow() const {
        QWidget* below = split->widget(1);
        const bool was_hidden = below->isHidden(), alone = detail->isHidden();
        const bool actions = bar != nullptr && bar->refresh();
        detail->setVisible(shown >= 0);
        below->setVisible(shown >= 0 || actions);
        if (below->isHidden()) return;
        if (shown < 0)
            split->setSizes({split->height(), below->minimumSizeHint().height()});
        else if (was_hidden || alone)
            split->setSizes({kWhole - detail_share, detail_share});
    }

    void follow(const QUrl& url) const {
        const AnalysisPtr& analysis = session->analysis();
        if (!analysis) return;
        if (url.scheme() == QLatin1String("finding")) {
            const std::string id = url.path().toStdString();
            for (std::size_t row = 0; row < analysis->findings.size(); ++row)
                if (analysis->findings[row].id == id)
                    session->pick({PickKind::Finding, static_cast<std::uint32_t>(row)});
        } else if (url.scheme() == QLatin1String("instance") && shown >= 0) {
            session->pick(
                {PickKind::Instance, static_cast<std::uint32_t>(shown) << 16U | (url.path().toUInt() & 0xFFFFU)});
        }
    }
};

FindingsPanel::FindingsPanel(Session* session, QWidget* parent)
    : QWidget(parent), impl_(std::make_unique<Impl>(this, session)) {
    impl_->build();
}
FindingsPanel::~FindingsPanel() = default;

void FindingsPanel::setFilter(const QString& text) {
    impl_->following = true;
    impl_->proxy->setWords(text);
    impl_->showSelection();
}

int FindingsPanel::detailShare() const { return impl_->detail_share; }

void FindingsPanel::setDetailShare(int share) {
    impl_->detail_share = share > 0 && share < kWhole ? share : kWhole / 2;
    if (impl_->shown >= 0) impl_->split->setSizes({kWhole - impl_->detail_share, impl_->detail_share});
}

void FindingsPanel::setQueue(FuseQueue* queue) { impl_->setQueue(queue); }

void FindingsPanel::fuseChosen() {
    if (impl_->queue != nullptr && impl_->shown >= 0) impl_->queue->fuse(static_cast<std::size_t>(impl_->shown));
}

void FindingsPanel::cancelChosen() {
    if (impl_->queue != nullptr && impl_->shown >= 0) impl_->queue->cancel(static_cast<std::size_t>(impl_->shown));
}

int FindingsPanel::chosen() const { return impl_->shown; }

QString FindingsPanel::copyText() const {
    const AnalysisPtr& analysis = impl_->session->analysis();
    if (const ChosenRegion* own = impl_->model->region(impl_->shown); analysis && own != nullptr)
        return regionMarkdown(*own, impl_->model->measured(impl_->shown));
    return analysis && impl_->shown >= 0 ? findingMarkdown(*analysis, static_cast<std::size_t>(impl_->shown),
                                                           impl_->model->measured(impl_->shown))
                                         : QString();
}

} // namespace fusescope
