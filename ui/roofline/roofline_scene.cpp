// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_scene.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"

#include <QChart>
#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fusescope {
namespace {

constexpr std::size_t kPickable = 500; // the longest ones; the rest is shown as plain dots
constexpr std::size_t kLabels = 8;

bool chosen(const SelectionSets& selection, std::uint32_t row) {
    return std::binary_search(selection.ops.begin(), selection.ops.end(), row);
}

QString labelOf(const OpSummary& op) {
    QString label = text(displayOpName(op.op));
    if (!op.module_type.empty()) label += QStringLiteral(" · ") + text(op.module_type);
    if (op.direction == Direction::Backward) label += QLatin1String(" (bwd)");
    return label;
}

} // namespace

RooflineItem::RooflineItem(QChart* chart, QAbstractSeries* axes_of, const Session* session)
    : QGraphicsItem(chart), chart_(chart), axes_of_(axes_of), session_(session) {
    setAcceptedMouseButtons(Qt::NoButton);
}
QRectF RooflineItem::boundingRect() const { return QRectF(QPointF(0, 0), chart_->size()); }
QPointF RooflineItem::place(QPointF v) const { return chart_->mapToPosition(v, axes_of_); }
QPointF RooflineItem::value(QPointF p) const { return chart_->mapToValue(p, axes_of_); }
QRectF RooflineItem::plot() const { return chart_->plotArea(); }
QColor RooflineItem::colourOf(ColourRole role) const { return qColor(role, session_->theme()); }

void RooflineGridItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    const QRectF area = plot();
    const QPointF low = value(area.bottomLeft()), high = value(area.topRight());
    if (!(high.x() > low.x()) || !(high.y() > low.y())) return;
    painter->setRenderHint(QPainter::Antialiasing, false);
    painter->fillRect(area, colourOf(ColourRole::Surface));
    painter->setFont(uiFont(11));
    const QFontMetricsF metrics(painter->font());
    const QPen line(colourOf(ColourRole::Grid), 1), words(colourOf(ColourRole::TextMuted));
    // Decades; when less than two of them are in sight, twos and fives too.
    const auto each = [](double from, double to, auto&& tick) {
        const bool fine = to - from < 2;
        for (int decade = static_cast<int>(std::floor(from)); decade <= static_cast<int>(std::ceil(to)); ++decade)
            for (const double digit : {1.0, 2.0, 5.0}) {
                if (digit > 1 && !fine) break;
                const double at = decade + std::log10(digit);
                if (at >= from - 1e-6 && at <= to + 1e-6) tick(at, digit * std::pow(10.0, decade));
            }
    };
    double last = -1e9;
    each(low.x(), high.x(), [&](double at, double v) {
        const double x = std::round(place({at, low.y()}).x());
        painter->setPen(line);
        painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        const QString label = intensityLabel(v);
        const double width = metrics.horizontalAdvance(label);
        if (x - width / 2 < last + 8) return;
        last = x + width / 2;
        painter->setPen(words);
        painter->drawText(QRectF(x - 40, area.bottom() + 4, 80, 16), Qt::AlignHCenter | Qt::AlignTop, label);
    });
    last = 1e9;
    each(low.y(), high.y(), [&](double at, double v) {
        const double y = std::round(place({low.x(), at}).y());
        painter->setPen(line);
        painter->drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        if (last - y < 18) return;
        last = y;
        painter->setPen(words);
        painter->drawText(QRectF(0, y - 8, area.left() - 8, 16), Qt::AlignRight | Qt::AlignVCenter, rateLabel(v));
    });
    painter->setPen(QPen(colourOf(ColourRole::Border), 1));
    painter->drawRect(area);
    painter->setPen(words);
    painter->drawText(QRectF(area.left(), area.bottom() + 20, area.width(), 16), Qt::AlignHCenter | Qt::AlignTop,
                      QCoreApplication::translate("fusescope::RooflinePanel", "arithmetic intensity, FLOP/byte"));
}

void RooflineMarksItem::setAnalysis(AnalysisPtr analysis) {
    analysis_ = std::move(analysis);
    marks_.clear();
    hovered_ = -1;
    if (analysis_) {
        double longest = 0;
        for (const OpSummary& op : analysis_->ops) longest = std::max(longest, op.time_ns);
        const std::vector<std::uint32_t> rows = plottableOps(*analysis_);
        const bool many = rows.size() > kPickable; // markRadius looks at every row each time
        for (const std::uint32_t row : rows) {
            const OpSummary& op = analysis_->ops[row];
            const double share = longest > 0 ? op.time_ns / longest : 0;
            const double radius = many ? std::max(3.0, 18 * std::sqrt(share)) : markRadius(*analysis_, row);
            marks_.push_back({row, {std::log10(op.intensity()), std::log10(op.achievedFlops())}, radius});
        }
        std::stable_sort(marks_.begin(), marks_.end(), [&](const RooflineMark& a, const RooflineMark& b) {
            return analysis_->ops[a.row].time_ns > analysis_->ops[b.row].time_ns;
        });
    }
    update();
}

int RooflineMarksItem::markAt(QPointF at) const {
    if (!plot().contains(at)) return -1;
    int best = -1;
    const std::size_t pickable = std::min(marks_.size(), kPickable);
    for (std::size_t i = 0; i < pickable; ++i) { // later ones lie on top
        const QPointF d = place(marks_[i].value) - at;
        const double reach = marks_[i].radius + 2;
        if (d.x() * d.x() + d.y() * d.y() <= reach * reach) best = static_cast<int>(i);
    }
    return best;
}

void RooflineMarksItem::setHovered(int mark) {
    if (mark == hovered_) return;
    hovered_ = mark;
    update();
}

void RooflineMarksItem::paint(QPainter* painter, const QStyleOptionGraphicsItem*, QWidget*) {
    if (!analysis_) return;
    const QRectF area = plot();
    const SelectionSets& selection = session_->selection();
    const bool picking = !selection.ops.empty();
    painter->save();
    painter->setClipRect(area);
    painter->setRenderHint(QPainter::Antialiasing);
    if (marks_.size() > kPickable) {
        QColor dot = colourOf(ColourRole::TextMuted);
        dot.setAlphaF(0.35F);
        painter->setPen(QPen(dot, 3, Qt::SolidLine, Qt::RoundCap));
        for (std::size_t i = kPickable; i < marks_.size(); ++i) painter->drawPoint(place(marks_[i].value));
    }
    const std::size_t shown = std::min(marks_.size(), kPickable);
    for (const bool front : {false, true}) { // selected ones lie above all others
        for (std::size_t i = 0; i < shown; ++i) {
            const RooflineMark& mark = marks_[i];
            const bool is_chosen = picking && chosen(selection, mark.row);
            if (is_chosen != front) continue;
            const QPointF at = place(mark.value);
            QColor fill = colourOf(roleOf(analysis_->ops[mark.row].kind));
            fill.setAlphaF(picking && !is_chosen ? 0.22F : 0.9F);
            QColor edge = colourOf(picking && !is_chosen ? ColourRole::Surface : ColourRole::TextMuted);
            if (!is_chosen) edge.setAlphaF(0.7F);
            painter->setBrush(fill);
            painter->setPen(QPen(edge, 1));
            painter->drawEllipse(at, mark.radius, mark.radius);
            if (is_chosen || static_cast<int>(i) == hovered_) {
                painter->setBrush(Qt::NoBrush);
                painter->setPen(
                    QPen(colourOf(is_chosen ? ColourRole::Accent : ColourRole::Text), is_chosen ? 2.5 : 1.5));
                painter->drawEllipse(at, mark.radius + 2.5, mark.radius + 2.5);
            }
        }
    }

    // Roofs and the ridge carry their figures; labels of marks keep off them.
    std::vector<QRectF> taken;
    const DeviceSpec& device = analysis_->device;
    const double peak = device.bf16_tensor > 0 ? device.bf16_tensor : std::max(device.fp16_tensor, device.fp32);
    if (peak > 0 && device.bandwidth_Bps > 0) {
        const QPointF ridge = place({std::log10(peak / device.bandwidth_Bps), std::log10(peak)});
        painter->setBrush(colourOf(ColourRole::Text));
        painter->setPen(QPen(colourOf(ColourRole::Surface), 1.5));
        painter->drawEllipse(ridge, 4.5, 4.5);
        const auto note = [&](QRectF box, int align, const QString& words, ColourRole role, bool bold = false) {
            painter->setFont(uiFont(11, bold));
            const QRectF used = QFontMetricsF(painter->font()).boundingRect(box, align, words);
            painter->setPen(colourOf(role));
            painter->drawText(box, align, words);
            taken.push_back(used);
        };
        const bool tight = ridge.x() + 128 > area.right();
        const QString figure = QCoreApplication::translate("fusescope::RooflinePanel", "ridge %1 FLOP/byte")
                                   .arg(text(formatSignificant(peak / device.bandwidth_Bps)));
        note(tight ? QRectF(area.left(), area.bottom() - 20, ridge.x() - 6 - area.left(), 16)
                   : QRectF(ridge.x() + 6, area.bottom() - 20, area.right() - ridge.x() - 8, 16),
             (tight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter, figure, ColourRole::TextMuted);
        // The compute roof's figure gives way upwards to a mark under it.
        QRectF above(area.right() - 96, ridge.y() - 20, 88, 16);
        const auto under = [&](const RooflineMark& mark) {
            return QRectF(place(mark.value) - QPointF(mark.radius, mark.radius),
                          QSizeF(2 * mark.radius, 2 * mark.radius))
                .intersects(above);
        };
        if (std::any_of(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(shown), under))
            above.moveTop(std::max(area.top() + 2, above.top() - 18));
        note(above, Qt::AlignRight | Qt::AlignVCenter, text(formatFlopRate(peak)), ColourRole::Text, true);
        // The memory roof's figure stands along its slope, above it.
        const QPointF from = place({std::log10(peak / device.bandwidth_Bps) - 1, std::log10(peak) - 1});
        const double dx = ridge.x() - from.x(), dy = ridge.y() - from.y();
        if (dx > 1) {
            const double low = value(area.bottomLeft()).x(), low_y = value(area.bottomLeft()).y();
            const double start = std::max(low, low_y - std::log10(device.bandwidth_Bps));
            const double middle = (start + std::log10(peak / device.bandwidth_Bps)) / 2;
            const QPointF at = place({middle, middle + std::log10(device.bandwidth_Bps)});
            painter->save();
            painter->translate(at);
            painter->rotate(std::atan2(dy, dx) * 180 / 3.14159265358979);
            painter->setFont(uiFont(11, true));
            painter->setPen(colourOf(ColourRole::Text));
            painter->drawText(QRectF(-120, -22, 240, 16), Qt::AlignHCenter | Qt::AlignVCenter,
                              QString(QLatin1String("HBM ") + text(formatBandwidth(device.bandwidth_Bps))));
            painter->restore();
        }
        // Keep off the slope and the drop line.
        const double left = value(area.topLeft()).x(), right = std::log10(peak / device.bandwidth_Bps);
        for (int i = 0; i <= 40; ++i) {
            const double x = left + (right - left) * i / 40;
            const QPointF p = place({x, x + std::log10(device.bandwidth_Bps)});
            taken.emplace_back(p.x() - 6, p.y() - 4, 12, 8);
        }
        taken.emplace_back(ridge.x() - 1, ridge.y(), 2, area.bottom() - ridge.y());
        taken.emplace_back(area.left(), ridge.y() - 2, area.width(), 4);
    }
    paintLabels(*painter, std::move(taken));
    painter->restore();
}

void RooflineMarksItem::paintLabels(QPainter& painter, std::vector<QRectF> taken) const {
    const QRectF area = plot();
    const SelectionSets& selection = session_->selection();
    const bool picking = !selection.ops.empty();
    painter.setFont(uiFont(11));
    const QFontMetricsF metrics(painter.font());
    const std::size_t shown = std::min<std::size_t>(marks_.size(), 100);
    std::vector<QRectF> circles(shown);
    for (std::size_t i = 0; i < shown; ++i) {
        const QPointF at = place(marks_[i].value);
        circles[i] =
            QRectF(at.x() - marks_[i].radius, at.y() - marks_[i].radius, 2 * marks_[i].radius, 2 * marks_[i].radius);
    }
    std::size_t labelled = 0;
    for (std::size_t i = 0; i < shown && labelled < kLabels; ++i) {
        if (picking && !chosen(selection, marks_[i].row)) continue;
        const OpSummary& op = analysis_->ops[marks_[i].row];
        if (!picking && op.time_ns < analysis_->ops[marks_.front().row].time_ns * 0.01)
            break; // only noise from here on
        const QString words = metrics.elidedText(labelOf(op), Qt::ElideRight, 168);
        const double width = metrics.horizontalAdvance(words) + 4, height = 15;
        const QRectF& c = circles[i];
        const std::array<QPointF, 6> places = {{{c.right() + 4, c.center().y() - height / 2},
                                                {c.left() - 4 - width, c.center().y() - height / 2},
                                                {c.center().x() - width / 2, c.bottom() + 2},
                                                {c.center().x() - width / 2, c.top() - 2 - height},
                                                {c.right() - 2, c.bottom() - 2},
                                                {c.right() - 2, c.top() + 2 - height}}};
        for (std::size_t p = 0; p < places.size(); ++p) {
            QRectF box(places[p], QSizeF(width, height));
            // Below and above, a label need not be centred.
            if (p == 2 || p == 3)
                box.moveLeft(
                    std::clamp(box.left(), area.left() + 3, std::max(area.left() + 3, area.right() - width - 3)));
            if (!area.adjusted(2, 2, -2, -2).contains(box)) continue;
            const auto hits = [&](const QRectF& other) { return other.intersects(box); };
            if (std::any_of(taken.begin(), taken.end(), hits)) continue;
            bool covered = false;
            for (std::size_t j = 0; j < shown && !covered; ++j) covered = j != i && circles[j].intersects(box);
            if (covered) continue;
            painter.setPen(colourOf(ColourRole::Text));
            painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, words);
            taken.push_back(box);
            ++labelled;
            break;
        }
    }
}

} // namespace fusescope
