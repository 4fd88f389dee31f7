// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include "core/base/format.h"
#include "ui/base/empty_note.h"
#include "ui/base/legend.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"
#include "ui/timeline/timeline_canvas.h"
#include "ui/timeline/timeline_state.h"
#include "ui/timeline/timeline_strips.h"

#include <QGridLayout>
#include <QLabel>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QStackedLayout>
#include <QToolButton>

#include <cmath>

namespace fusescope {

struct TimelinePanel::Impl {
    Session* session = nullptr;
    TimelineState* state = nullptr;
    TimelineCanvas* canvas = nullptr;
    QScrollBar* bar = nullptr;
    QStackedLayout* stack = nullptr;
    QAction* after = nullptr;
    QToolButton* after_button = nullptr;

    void syncAfter() const {
        const QSignalBlocker quiet(after);
        after->setEnabled(state->canShowAfter());
        after->setChecked(state->after() != nullptr);
        after_button->setVisible(state->canShowAfter());
        after_button->setChecked(after->isChecked());
        QStringList words = {tr("Later work moved up by what was measured, or all as recorded (T)")};
        if (const TimelineAfter* shown = state->after()) {
            words << text(afterText(*shown));
            if (!shown->plan_measured) words << tr("What is only predicted stays as recorded");
            if (const std::string held = afterHeldText(*shown); !held.empty()) words << text(held);
        }
        after->setToolTip(plainTip(words.join(QChar(u'\n'))));
    }
    void syncBar() const {
        const QSignalBlocker quiet(bar);
        bar->setRange(0, static_cast<int>(std::ceil(state->maxScroll())));
        bar->setPageStep(canvas->height());
        bar->setSingleStep(18);
        bar->setValue(static_cast<int>(std::lround(state->scroll())));
    }
    void load() const {
        state->load();
        stack->setCurrentIndex(state->hasTrace() ? 1 : 0);
    }
    void follow() const {
        std::int64_t begin = 0, end = 0;
        TrackId track;
        if (!state->hasTrace() || !state->selectedSpan(begin, end, track)) return;
        if (!state->selectionInSight()) state->showSpan(begin, end, false);
        if (!canvas->hasFocus()) state->scrollTo(track);
    }
};

TimelinePanel::TimelinePanel(Session* session, QWidget* parent) : QWidget(parent), impl_(std::make_unique<Impl>()) {
    setObjectName(QStringLiteral("timelinePanel"));
    setAccessibleName(tr("Timeline"));
    impl_->session = session;
    impl_->state = new TimelineState(session, this);
    auto* rows = new QWidget(this);
    impl_->canvas = new TimelineCanvas(impl_->state, rows);
    auto* minimap = new MinimapStrip(impl_->state, rows);
    auto* ruler = new RulerStrip(impl_->state, rows);
    auto* labels = new LabelColumn(impl_->state, rows);
    impl_->bar = new QScrollBar(Qt::Vertical, rows);
    impl_->bar->setAccessibleName(tr("Scroll the rows"));
    auto* grid = new QGridLayout(rows);
    grid->setContentsMargins(0, 4, 0, 0);
    grid->setSpacing(0);
    auto* span = new QLabel(rows); // how much time is in sight
    span->setForegroundRole(QPalette::PlaceholderText);
    span->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    span->setContentsMargins(8, 0, 8, 0);
    span->setFont(uiFont(11));
    grid->addWidget(span, 1, 0);
    impl_->after = new QAction(tr("&After fusing"), this);
    impl_->after->setCheckable(true);
    impl_->after->setShortcut(QKeySequence(tr("T")));
    impl_->after_button = new QToolButton(rows);
    impl_->after_button->setDefaultAction(impl_->after);
    impl_->after_button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    impl_->after_button->setFocusPolicy(Qt::TabFocus);
    grid->addWidget(impl_->after_button, 0, 0, Qt::AlignCenter);
    grid->addWidget(minimap, 0, 1);
    grid->addWidget(ruler, 1, 1);
    grid->addWidget(labels, 2, 0);
    grid->addWidget(impl_->canvas, 2, 1);
    grid->addWidget(impl_->bar, 2, 2);
    grid->addWidget(new LegendStrip(session, rows), 3, 0, 1, 3);
    grid->setRowStretch(2, 1);
    grid->setColumnStretch(1, 1);
    auto* note = new EmptyNote(
        session, tr("No trace is open"),
        tr("Open a PyTorch profiler trace (*.pt.trace.json or .json.gz) to see its kernels on a timeline. "
           "Record one with torch.profiler and export_chrome_trace()."),
        this);
    impl_->stack = new QStackedLayout(this);
    impl_->stack->setContentsMargins(0, 0, 0, 0);
    impl_->stack->addWidget(note);
    impl_->stack->addWidget(rows);
    setFocusProxy(impl_->canvas);
    setMinimumHeight(120);

    connect(impl_->bar, &QScrollBar::valueChanged, impl_->state, [this](int y) { impl_->state->setScroll(y); });
    connect(impl_->state, &TimelineState::changed, this, [this] { impl_->syncBar(); });
    connect(impl_->state, &TimelineState::rangeChanged, this, [this, span] {
        span->setText(
            tr("%1 in sight").arg(text(formatDuration(static_cast<double>(impl_->state->t1() - impl_->state->t0())))));
        Q_EMIT rangeChanged();
    });
    connect(impl_->after, &QAction::toggled, impl_->state, &TimelineState::setAfter);
    connect(impl_->state, &TimelineState::afterChanged, this, [this] { impl_->syncAfter(); });
    connect(impl_->canvas, &TimelineCanvas::hovered, ruler, &RulerStrip::showAt);
    connect(session, &Session::analysisChanged, this, [this] { impl_->load(); });
    connect(session, &Session::selectionChanged, this, [this] { impl_->follow(); });
    impl_->load();
    impl_->syncAfter();
}

TimelinePanel::~TimelinePanel() = default;

std::pair<std::int64_t, std::int64_t> TimelinePanel::range() const { return {impl_->state->t0(), impl_->state->t1()}; }
void TimelinePanel::setRange(std::int64_t t0, std::int64_t t1) { impl_->state->setRange(t0, t1); }
void TimelinePanel::showStep() { impl_->state->showStep(); }
void TimelinePanel::showAll() { impl_->state->showAll(); }
QAction* TimelinePanel::afterAction() const { return impl_->after; }

void TimelinePanel::zoomToSelection() {
    std::int64_t begin = 0, end = 0;
    TrackId track;
    if (!impl_->state->selectedSpan(begin, end, track)) return;
    impl_->state->scrollTo(track);
    impl_->state->showSpan(begin, end, true);
}

} // namespace fusescope
