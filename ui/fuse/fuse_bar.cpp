// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_bar.h"

#include "ui/base/paint.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_words.h"
#include "ui/fuse/region_words.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace fusescope {

FuseBar::FuseBar(Session* session, FuseQueue* queue, QWidget* parent)
    : QWidget(parent), session_(session), queue_(queue), button_(new QPushButton(this)),
      runner_(new QPushButton(tr("Runner…"), this)), this_(new QPushButton(this)), progress_(new QProgressBar(this)),
      note_(new QLabel(this)) {
    setObjectName(QStringLiteral("fuseBar"));
    button_->setObjectName(QStringLiteral("fuseButton"));
    this_->setObjectName(QStringLiteral("fuseThis"));
    this_->installEventFilter(this);
    this_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed); // a long name does not widen the panel
    progress_->setTextVisible(false);
    progress_->setAccessibleName(tr("Progress of the measurement"));
    note_->setTextFormat(Qt::PlainText);
    note_->setWordWrap(true);
    note_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    runner_->setToolTip(tr("Which program measures, here or on another machine"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 8, 16, 8);
    column->setSpacing(4);
    auto* row = new QHBoxLayout;
    row->setSpacing(8);
    row->addWidget(button_);
    row->addWidget(this_, 1); // beside it: in a low window a line more would cover the details
    row->addWidget(progress_, 1);
    row->addStretch();
    row->addWidget(runner_);
    column->addLayout(row);
    column->addWidget(note_);
    connect(this_, &QPushButton::clicked, this, [this] { session_->wantRegion(selectedWork(*session_).wish); });
    connect(button_, &QPushButton::clicked, this, [this] {
        if (row_ < 0) return;
        const auto at = static_cast<std::size_t>(row_);
        if (queue_->job(at).active())
            queue_->cancel(at);
        else
            queue_->fuse(at);
    });
    connect(runner_, &QPushButton::clicked, this, &FuseBar::runnerWanted);
    connect(queue, &FuseQueue::changed, this, &FuseBar::update);
    connect(session, &Session::themeChanged, this, &FuseBar::update);
    update();
}

void FuseBar::show(int row) {
    row_ = row;
    update();
}

// The words in full, or of a path its end, or as much of that as the button has room for.
void FuseBar::elide() {
    constexpr int kFrame = 16;
    const int room = std::max(0, this_->width() - kFrame);
    const QFontMetrics metrics = this_->fontMetrics();
    const QString words = metrics.horizontalAdvance(words_) <= room ? words_ : short_words_;
    this_->setText(metrics.elidedText(words, Qt::ElideMiddle, room).replace(QLatin1Char('&'), QLatin1String("&&")));
}

// All of the note's lines: a splitter asks no widget how high it is at its width, and would cut what is to be done.
void FuseBar::fitNote() {
    const QMargins around = layout()->contentsMargins();
    const int wide = width() - around.left() - around.right();
    note_->setMinimumHeight(note_->isHidden() ? 0 : std::max(0, note_->heightForWidth(wide)));
}

void FuseBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitNote();
}

bool FuseBar::eventFilter(QObject* watched, QEvent* event) {
    if (watched == this_ && event->type() == QEvent::Resize) elide();
    return QWidget::eventFilter(watched, event);
}

bool FuseBar::refresh() {
    update();
    return !isHidden();
}

void FuseBar::update() {
    const AnalysisPtr& analysis = session_->analysis();
    const Finding* shown = row_ >= 0 ? session_->workAt(static_cast<std::size_t>(row_)) : nullptr;
    const SelectedWork selected = selectedWork(*session_);
    const bool region = !selected.wish.empty() && analysis->graph != nullptr;
    this_->setVisible(region);
    if (region) {
        const QString words = fuseThisText(*analysis, selected);
        words_ = words;
        short_words_ = fuseThisShort(*analysis, selected);
        elide();
        this_->setToolTip(
            queue_->choosing()
                ? tr("Looking at it")
                : plainTip(tr("%1. It is run as it is and, where there is a form, fused (Ctrl+Return)").arg(words)));
        this_->setAccessibleName(words);
        this_->setEnabled(!queue_->choosing());
    }
    setVisible(shown != nullptr || region);
    button_->setVisible(shown != nullptr);
    if (shown == nullptr) {
        for (QWidget* widget :
             {static_cast<QWidget*>(progress_), static_cast<QWidget*>(runner_), static_cast<QWidget*>(note_)})
            widget->hide();
        return;
    }
    const auto row = static_cast<std::size_t>(row_);
    const Finding& finding = *shown;
    const ChosenPtr region_shown = session_->regionAt(row);
    const FuseJob job = queue_->job(row);
    const QString against = queue_->reasonAgainst(row);
    bool again = false;
    for (const auto& [key, result] : session_->measured().results()) again = again || key.first == finding.id;
    button_->setText(job.active()                              ? tr("Cancel")
                     : again                                   ? tr("Measure again")
                     : region_shown && !region_shown->has_form ? tr("Measure")
                                                               : tr("Fuse"));
    button_->setEnabled(job.active() ? job.state != FuseJob::State::Cancelling : against.isEmpty());
    button_->setToolTip(job.active() ? tr("Leave it unmeasured")
                        : !against.isEmpty()
                            ? plainTip(against)
                            : tr("Run it unfused and fused, and compare speed, memory and numbers (F)"));
    button_->setAccessibleDescription(button_->toolTip());
    progress_->setVisible(job.active());
    constexpr int kSteps = 1000;
    progress_->setRange(0, job.fraction < 0 ? 0 : kSteps);
    if (job.fraction >= 0) progress_->setValue(static_cast<int>(job.fraction * kSteps));
    const bool failed = job.state == FuseJob::State::Failed;
    QString note = job.active() ? jobText(job) : failed ? errorWords(job.error).long_text : against;
    const bool runner_missing = queue_->runner() == nullptr || !queue_->runner()->available();
    runner_->setVisible(!job.active() && finding.verdict != Verdict::AlreadyFused && (failed || runner_missing));
    note_->setText(note);
    note_->setToolTip(plainTip(note)); // in the smallest window the list leaves it fewer lines
    note_->setVisible(!note.isEmpty());
    note_->setFont(uiFont(12));
    QPalette own = paletteOf(session_->theme());
    own.setColor(QPalette::WindowText, qColor(failed ? ColourRole::Danger : ColourRole::TextMuted, session_->theme()));
    note_->setPalette(own);
    fitNote();
}

} // namespace fusescope
