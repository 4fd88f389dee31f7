// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/finding_card.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/measured/shown.h"
#include "ui/base/paint.h"
#include "ui/base/tip.h"
#include "ui/fuse/fuse_words.h"
#include "ui/fuse/region_words.h"
#include "ui/models/finding_model.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QSortFilterProxyModel>
#include <QToolTip>

#include <algorithm>

namespace fusescope {
namespace {

constexpr int kMargin = 16, kLine = 20, kButton = 64, kSection = 32;

struct Source {
    const Finding* finding = nullptr;
    const ChosenRegion* region = nullptr; // then the finding is what it is described as
    const MeasuredFinding* measured = nullptr;
    std::size_t row = 0;
    double longest_ns = 0, step_ns = 0;
    QString title;
};

Source sourceOf(QModelIndex index) {
    const QAbstractItemModel* model = index.model();
    while (const auto* proxy = qobject_cast<const QSortFilterProxyModel*>(model)) {
        index = proxy->mapToSource(index);
        model = proxy->sourceModel();
    }
    const auto* findings = qobject_cast<const FindingModel*>(model);
    if (findings == nullptr) return {};
    const int row = index.row();
    return {findings->finding(row), findings->region(row), findings->measured(row), static_cast<std::size_t>(row),
            findings->longestNs(),  findings->stepNs(),    findings->title(row)};
}

// Whether the title of the section of own regions stands above it.
bool opensSection(const QModelIndex& index) {
    if (sourceOf(index).region == nullptr) return false;
    const QModelIndex before = index.sibling(index.row() - 1, index.column());
    return !before.isValid() || sourceOf(before).region == nullptr;
}

} // namespace

QString signalTitle(int signal) {
    switch (signal) {
    case 1: return FindingCardDelegate::tr("Many small kernels");
    case 2: return FindingCardDelegate::tr("Memory-bound operators in a row");
    case 3: return FindingCardDelegate::tr("Repeated in every layer");
    case 4: return FindingCardDelegate::tr("One formula in several steps");
    default: return FindingCardDelegate::tr("Signal %1").arg(signal);
    }
}

FindingCardDelegate::FindingCardDelegate(const Session* session, QObject* parent)
    : QStyledItemDelegate(parent), session_(session) {}

QSize FindingCardDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Source source = sourceOf(index);
    const bool fused = source.finding != nullptr && source.finding->verdict == Verdict::AlreadyFused;
    return {option.rect.width(), (fused            ? 56
                                  : hasLine(index) ? 96 + kLine
                                                   : 96) +
                                     (opensSection(index) ? kSection : 0)};
}

bool FindingCardDelegate::hasLine(const QModelIndex& index) const {
    const Source source = sourceOf(index);
    if (source.finding == nullptr || source.finding->verdict == Verdict::AlreadyFused) return false;
    if (source.measured != nullptr) return true;
    return queue_ != nullptr && queue_->job(source.row).state != FuseJob::State::Idle;
}

QRect FindingCardDelegate::cardRect(const QRect& item, const QModelIndex& index) {
    return opensSection(index) ? item.adjusted(0, kSection, 0, 0) : item;
}

QRect FindingCardDelegate::buttonRect(const QRect& card) {
    return {card.right() + 1 - kMargin - kButton, card.top() + 8 + 2 * kLine, kButton, kLine};
}

void FindingCardDelegate::paintButton(QPainter* painter, const QRect& card, std::size_t row, bool again,
                                      bool measures_only) const {
    const FuseJob job = queue_->job(row);
    const bool enabled = job.active() ? job.state != FuseJob::State::Cancelling : queue_->reasonAgainst(row).isEmpty();
    const auto colour = [this](ColourRole role) { return qColor(role, session_->theme()); };
    const QRectF place = QRectF(buttonRect(card)).adjusted(0.5, 0.5, -0.5, -0.5);
    painter->setPen(QPen(colour(enabled ? ColourRole::Accent : ColourRole::Border), 1));
    painter->setBrush(colour(ColourRole::Surface));
    painter->drawRoundedRect(place, 4, 4);
    painter->setFont(uiFont(12, enabled));
    painter->setPen(colour(enabled ? ColourRole::Accent : ColourRole::TextMuted));
    painter->drawText(place, Qt::AlignCenter,
                      job.active()    ? tr("Cancel")
                      : again         ? tr("Again")
                      : measures_only ? tr("Measure")
                                      : tr("Fuse"));
}

bool FindingCardDelegate::editorEvent(QEvent* event, QAbstractItemModel* model, const QStyleOptionViewItem& option,
                                      const QModelIndex& index) {
    if (queue_ != nullptr && event->type() == QEvent::MouseButtonRelease) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        const Source source = sourceOf(index);
        if (mouse->button() == Qt::LeftButton && source.finding != nullptr &&
            source.finding->verdict != Verdict::AlreadyFused &&
            buttonRect(cardRect(option.rect, index)).contains(mouse->position().toPoint())) {
            Q_EMIT fuseClicked(index);
            return true;
        }
    }
    return QStyledItemDelegate::editorEvent(event, model, option, index);
}

void FindingCardDelegate::paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const {
    const Source source = sourceOf(index);
    if (source.finding == nullptr) return;
    const Finding& f = *source.finding;
    const Theme theme = session_->theme();
    const auto colour = [theme](ColourRole role) { return qColor(role, theme); };
    const bool fused = f.verdict == Verdict::AlreadyFused;
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    const QString left = headroomText(f);
    const ColourRole strong = fused && left.isEmpty() ? ColourRole::TextMuted : ColourRole::Text;

    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const QRect own_rect = cardRect(option.rect, index);
    const QRectF card = QRectF(own_rect);
    if (own_rect != option.rect) {
        const QRectF section(option.rect.left(), option.rect.top(), option.rect.width(), kSection);
        painter->fillRect(section, colour(ColourRole::Background));
        painter->setFont(uiFont(12, true));
        painter->setPen(colour(ColourRole::TextMuted));
        painter->drawText(section.adjusted(kMargin, 0, -kMargin, 0), Qt::AlignLeft | Qt::AlignVCenter,
                          tr("Your regions"));
    }
    painter->fillRect(card, colour(selected ? ColourRole::SurfaceRaised : ColourRole::Surface));
    if (selected) painter->fillRect(QRectF(card.left(), card.top(), 4, card.height()), colour(ColourRole::Accent));
    painter->fillRect(QRectF(card.left(), card.bottom() - 1, card.width(), 1), colour(ColourRole::Grid));
    if ((option.state & QStyle::State_HasFocus) != 0) {
        painter->setPen(QPen(colour(ColourRole::Accent), 1));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(card.adjusted(0.5, 0.5, -0.5, -1.5));
    }
    const QRectF room = card.adjusted(kMargin, 8, -kMargin, -8);
    const auto line = [&](int number) { return QRectF(room.left(), room.top() + number * kLine, room.width(), kLine); };
    // Writes and returns the width taken.
    const auto write = [&](QRectF where, const QString& words, ColourRole role, const QFont& font, Qt::Alignment side) {
        painter->setFont(font);
        painter->setPen(colour(role));
        const QFontMetricsF metrics(font);
        const QString fitted = metrics.elidedText(words, Qt::ElideRight, std::max(0.0, where.width()));
        painter->drawText(where, static_cast<int>(side | Qt::AlignVCenter), fitted);
        return metrics.horizontalAdvance(fitted);
    };

    // Title and verdict.
    const QFont badge_font = uiFont(11, true);
    const ChosenRegion* own = source.region;
    const Verdict told = source.measured != nullptr ? source.measured->verdict : f.verdict;
    const QString verdict = own != nullptr ? regionBadge(*own) : verdictText(told);
    const double badge_width = QFontMetricsF(badge_font).horizontalAdvance(verdict) + 16;
    const QRectF badge(room.right() - badge_width, room.top() + 1, badge_width, 18);
    const ColourRole badge_role = own != nullptr ? ColourRole::TextMuted : colourOf(told);
    const bool filled = badge_role != ColourRole::TextMuted;
    painter->setPen(filled ? Qt::NoPen : QPen(colour(ColourRole::Border), 1));
    painter->setBrush(filled ? QBrush(colour(badge_role)) : QBrush(Qt::NoBrush));
    painter->drawRoundedRect(filled ? badge : badge.adjusted(0.5, 0.5, -0.5, -0.5), 9, 9);
    write(badge, verdict, filled ? textOn(badge_role) : ColourRole::TextMuted, badge_font, Qt::AlignHCenter);
    write(line(0).adjusted(0, 0, -badge_width - 8, 0), source.title, strong, uiFont(14, true), Qt::AlignLeft);

    if (fused) {
        const QString what = f.time_ns > 0
                                 ? QString(kernelsText(f) + QStringLiteral(" · ") + text(formatDuration(f.time_ns)))
                                 : kernelsText(f);
        // First what it leaves: where the room ends, the rest is cut.
        const QFont font = uiFont(12);
        const double taken =
            left.isEmpty() ? 0 : write(line(1), left + QStringLiteral(" · "), ColourRole::Text, font, Qt::AlignLeft);
        write(line(1).adjusted(taken, 0, 0, 0), what, ColourRole::TextMuted, font, Qt::AlignLeft);
        painter->restore();
        return;
    }

    // What it saves: predicted, or predicted and then measured.
    const MeasuredFinding* m = source.measured;
    const bool measured = m != nullptr && m->any();
    const double saved = measured ? m->saving_ns.expected : f.saving_ns.expected;
    const double of_step = measured           ? shareOfSaving(f, saved, source.step_ns)
                           : f.time_estimated ? 0 // not seen in the step
                                              : f.step_share;
    const bool saves = saved > 0;
    const bool limit =
        own != nullptr && !own->swapsIn() && own->other_sizes.empty(); // what it could save at most is no prediction
    const QString saving = measured         ? measuredSavingText(*m)
                           : own != nullptr ? regionSavingText(*own)
                                            : savingText(f),
                  range = measured ? (m->speed == SpeedVerdict::NotFaster ? tr("no clear gain")
                                      : m->whole()                        ? tr("measured")
                                                                          : tr("in part"))
                          : limit  ? tr("a limit")
                                   : savingRangeText(f);
    const QString figure_only = saves && of_step > 0 ? text(shareText(of_step)) : QString();
    const QFont strong_font = uiFont(13, true), plain_font = uiFont(12);
    const QFontMetricsF plain_metrics(plain_font);
    const double needed = QFontMetricsF(strong_font).horizontalAdvance(saving) + 8 +
                          (range.isEmpty() ? 0 : plain_metrics.horizontalAdvance(range) + 8);
    QString share = figure_only.isEmpty() ? QString() : FindingCardDelegate::tr("%1 of the step").arg(figure_only);
    // The range is what a prediction may not lose; of what the share is, the tooltip says.
    if (needed + plain_metrics.horizontalAdvance(share) > room.width()) share = figure_only;
    if (needed + plain_metrics.horizontalAdvance(share) > room.width()) share.clear(); // no word is cut for it
    const double share_width =
        share.isEmpty() ? 0 : write(line(1), share, ColourRole::TextMuted, plain_font, Qt::AlignRight) + 8;
    QRectF rest = line(1).adjusted(0, 0, -share_width, 0);
    const ColourRole saving_role = measured                                 ? roleOf(shownSpeed(m->speed))
                                   : saves && f.verdict == Verdict::WorthIt ? ColourRole::Good
                                                                            : strong;
    rest.setLeft(rest.left() + write(rest, saving, saving_role, strong_font, Qt::AlignLeft) + 8);
    if (!range.isEmpty()) write(rest, range, ColourRole::TextMuted, plain_font, Qt::AlignLeft);

    // Signals found, of four, and kernels.
    double x = room.left();
    for (int signal = 1; signal <= 4 && own == nullptr; ++signal) {
        const bool found = std::find(f.signals.begin(), f.signals.end(), signal) != f.signals.end();
        const QRectF chip(x, room.top() + 2 * kLine + 2, 16, 16);
        painter->setPen(QPen(colour(found ? ColourRole::Flagged : ColourRole::Border), 1));
        painter->setBrush(found ? QBrush(colour(ColourRole::Flagged)) : QBrush(Qt::NoBrush));
        painter->drawRoundedRect(chip.adjusted(0.5, 0.5, -0.5, -0.5), 3, 3);
        write(chip, QString::number(signal), found ? textOn(ColourRole::Flagged) : ColourRole::TextMuted,
              uiFont(10, found), Qt::AlignHCenter);
        x += 20;
    }
    write(line(2).adjusted(own != nullptr ? 0 : 4 * 20 + 4, 0, queue_ != nullptr ? -kButton - 8 : 0, 0),
          own != nullptr ? regionCountText(*own) : kernelsText(f), strong, uiFont(12), Qt::AlignLeft);
    const FuseJob job = queue_ != nullptr ? queue_->job(source.row) : FuseJob();
    if (queue_ != nullptr) paintButton(painter, own_rect, source.row, m != nullptr, own != nullptr && !own->has_form);
    painter->setRenderHint(QPainter::Antialiasing);

    // Time now, all of it against the longest finding; the solid part is what remains once fused.
    const double time = measured ? m->now_ns : f.time_ns;
    const double after = measured ? std::max(0.0, m->fused_ns.expected) : f.predicted_ns.expected;
    const QString times =
        FindingCardDelegate::tr("%1 → %2").arg(text(formatDuration(time)), text(formatDuration(after)));
    const double figure = 136;
    write(line(3).adjusted(room.width() - figure, 0, 0, 0), times, ColourRole::TextMuted, uiFont(12), Qt::AlignRight);
    const QRectF track(room.left(), room.top() + 3 * kLine + 6, room.width() - figure - 8, 8);
    if (source.longest_ns > 0 && time > 0) {
        const double now = std::clamp(track.width() * time / source.longest_ns, 2.0, track.width());
        const double then = now * std::clamp(after / time, 0.0, 1.0);
        painter->setPen(Qt::NoPen);
        QColor gone = colour(ColourRole::Flagged);
        gone.setAlphaF(0.35F);
        painter->setBrush(gone);
        painter->drawRoundedRect(QRectF(track.left(), track.top(), now, track.height()), 2, 2);
        painter->setBrush(colour(ColourRole::BoundMemory));
        painter->drawRoundedRect(QRectF(track.left(), track.top(), then, track.height()), 2, 2);
    }

    // The measurement: how far it is, what went wrong, or what it gave.
    if (job.active()) {
        constexpr double kBar = 80;
        const QRectF bar(room.right() - kBar, room.top() + 4 * kLine + 7, kBar, 6);
        painter->setPen(Qt::NoPen);
        painter->setBrush(colour(ColourRole::Border));
        painter->drawRoundedRect(bar, 3, 3);
        painter->setBrush(colour(ColourRole::Accent));
        if (job.fraction > 0)
            painter->drawRoundedRect(QRectF(bar.left(), bar.top(), std::max(6.0, kBar * job.fraction), 6), 3, 3);
        write(line(4).adjusted(0, 0, -kBar - 8, 0), jobText(job), ColourRole::TextMuted, uiFont(12), Qt::AlignLeft);
    } else if (job.state == FuseJob::State::Failed) {
        write(line(4), jobText(job), ColourRole::Danger, uiFont(12), Qt::AlignLeft);
    } else if (m != nullptr && own != nullptr) {
        write(line(4), regionLine(*own, *m), ColourRole::Text, uiFont(12), Qt::AlignLeft);
    } else if (m != nullptr) {
        write(line(4), measured ? measuredLine(*m) : measuredShortCaveat(*m),
              measured ? ColourRole::Text : ColourRole::Warning, uiFont(12), Qt::AlignLeft);
    }
    painter->restore();
}

bool FindingCardDelegate::helpEvent(QHelpEvent* event, QAbstractItemView* view, const QStyleOptionViewItem& option,
                                    const QModelIndex& index) {
    const Source source = sourceOf(index);
    if (source.finding == nullptr) return QStyledItemDelegate::helpEvent(event, view, option, index);
    const Finding& f = *source.finding;
    if (queue_ != nullptr && f.verdict != Verdict::AlreadyFused &&
        buttonRect(cardRect(option.rect, index)).contains(event->pos())) {
        const QString against = queue_->reasonAgainst(source.row);
        QToolTip::showText(event->globalPos(),
                           queue_->job(source.row).active() ? tr("Leave it unmeasured")
                           : against.isEmpty()
                               ? tr("Run it unfused and fused, and compare speed, memory and numbers (F)")
                               : plainTip(against));
        return true;
    }
    const QRect card = cardRect(option.rect, index);
    if (event->pos().y() >= card.top() + 8 + 4 * kLine && hasLine(index)) {
        const FuseJob job = queue_ != nullptr ? queue_->job(source.row) : FuseJob();
        const QString words = job.state == FuseJob::State::Failed ? errorWords(job.error).long_text
                              : job.active()                      ? jobText(job)
                              : source.measured == nullptr        ? QString()
                              : source.region != nullptr          ? regionLine(*source.region, *source.measured)
                                                                  : measuredCaveat(*source.measured);
        QToolTip::showText(event->globalPos(), plainTip(words));
        return true;
    }
    if (source.region != nullptr) {
        QToolTip::showText(event->globalPos(), plainTip(source.title));
        return true;
    }
    const QPointF at = QPointF(event->pos()) - QPointF(card.left() + kMargin, card.top() + 8 + 2 * kLine);
    const int chip = static_cast<int>(at.x() / 20) + 1;
    if (f.verdict != Verdict::AlreadyFused && at.y() >= 0 && at.y() < kLine && at.x() >= 0 && chip <= 4) {
        const bool found = std::find(f.signals.begin(), f.signals.end(), chip) != f.signals.end();
        QToolTip::showText(event->globalPos(), found ? tr("Signal %1: %2").arg(chip).arg(signalTitle(chip))
                                                     : tr("Signal %1 not found: %2").arg(chip).arg(signalTitle(chip)));
        return true;
    }
    if (f.verdict != Verdict::AlreadyFused && at.y() >= -kLine && at.y() < 0 && f.step_share > 0) {
        QToolTip::showText(event->globalPos(),
                           tr("Predicted saving %1 %2: %3 of the step's %4 (wall time)")
                               .arg(savingText(f), savingRangeText(f), text(shareText(f.step_share)),
                                    text(formatDuration(source.step_ns))));
        return true;
    }
    return QStyledItemDelegate::helpEvent(event, view, option, index);
}

} // namespace fusescope
