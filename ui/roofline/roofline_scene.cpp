// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/roofline/roofline_scene.h"

#include "core/base/format.h"
#include "core/draw/names.h"
#include "ui/base/paint.h"

#include <QChart>
#include <QCoreApplication>
#include <QPainter>
#include <QTransform>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fusescope {
namespace {

constexpr std::size_t kPickable = 500; // the longest ones; the rest is shown as plain dots
constexpr std::size_t kLabels = 8;
constexpr double kRing = 2.5; // of a selected mark, beside it

bool chosen(const SelectionSets& selection, std::uint32_t row) {
    return std::binary_search(selection.ops.begin(), selection.ops.end(), row);
}

QString labelOf(const OpSummary& op) {
    QString label = text(displayOpName(op.op));
    if (!op.module_type.empty()) label += QStringLiteral(" · ") + text(op.module_type);
    if (op.direction == Direction::Backward) label += QLatin1String(" (bwd)");
    return label;
}

QString shortLabelOf(const OpSummary& op) {
    return text(displayOpName(op.op)) + (op.direction == Direction::Backward ? QStringLiteral(" (bwd)") : QString());
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
    // Every label, or every second one, or ...: a scale with one number left out reads as a fault.
    double widest = 0, spacing = area.width(), before = -1e9;
    each(low.x(), high.x(), [&](double at, double v) {
        const double x = place({at, low.y()}).x();
        widest = std::max(widest, metrics.horizontalAdvance(intensityLabel(v)));
        if (before > -1e9) spacing = std::min(spacing, x - before);
        before = x;
    });
    const int every = std::max(1, static_cast<int>(std::ceil((widest + 6) / std::max(1.0, spacing))));
    int number = 0;
    each(low.x(), high.x(), [&](double at, double v) {
        const double x = std::round(place({at, low.y()}).x());
        painter->setPen(line);
        painter->drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        if (number++ % every != 0) return;
        painter->setPen(words);
        painter->drawText(QRectF(x - 40, area.bottom() + 4, 80, 16), Qt::AlignHCenter | Qt::AlignTop,
                          intensityLabel(v));
    });
    double last = 1e9;
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
                painter->drawEllipse(at, mark.radius + kRing, mark.radius + kRing);
            }
        }
    }

    figures_ = paintLabels(*painter, paintRoofs(*painter)).hard;
    painter->restore();
}

// Roofs and the ridge carry their figures; labels of marks keep off them.
RooflineMarksItem::Taken RooflineMarksItem::paintRoofs(QPainter& painter) const {
    Taken taken;
    const QRectF area = plot();
    const DeviceSpec& device = analysis_->device;
    const double peak = device.bf16_tensor > 0 ? device.bf16_tensor : std::max(device.fp16_tensor, device.fp32);
    if (!(peak > 0) || !(device.bandwidth_Bps > 0)) return taken;
    const double ridge_ai = std::log10(peak / device.bandwidth_Bps);
    const QPointF ridge = place({ridge_ai, std::log10(peak)});
    painter.setBrush(colourOf(ColourRole::Text));
    painter.setPen(QPen(colourOf(ColourRole::Surface), 1.5));
    painter.drawEllipse(ridge, 4.5, 4.5);

    const std::vector<QRectF> circles = circlesOf(marks_.size());
    // At the first place where no mark and no other figure is; must: at the first of all where there is none.
    const auto note = [&](const std::vector<QPointF>& corners, const QString& words, ColourRole role, bool bold,
                          bool must) {
        painter.setFont(uiFont(11, bold));
        const QSizeF size(QFontMetricsF(painter.font()).horizontalAdvance(words) + 2, 16);
        const auto isFree = [&](const QPointF& corner) {
            const QRectF box(corner, size);
            const auto hits = [&](const QRectF& other) { return other.intersects(box); };
            return area.contains(box) && std::none_of(circles.begin(), circles.end(), hits) &&
                   std::none_of(taken.hard.begin(), taken.hard.end(), hits);
        };
        const auto free_one = std::find_if(corners.begin(), corners.end(), isFree);
        if (free_one == corners.end() && !must) return false;
        QRectF chosen(free_one == corners.end() ? corners.front() : *free_one, size);
        chosen.moveRight(std::min(chosen.right(), area.right())); // in a narrow plot over something rather than cut
        chosen.moveLeft(std::max(chosen.left(), area.left()));
        if (chosen.left() < ridge.x() && chosen.right() > ridge.x() && chosen.top() > ridge.y())
            painter.fillRect(QRectF(ridge.x() - 2, chosen.top(), 4, chosen.height()),
                             colourOf(ColourRole::Surface)); // the line that drops from the ridge stands back
        painter.setPen(colourOf(role));
        painter.drawText(chosen, Qt::AlignLeft | Qt::AlignVCenter, words);
        taken.hard.push_back(chosen);
        return true;
    };
    const auto width = [](const QString& words, bool bold) {
        return QFontMetricsF(uiFont(11, bold)).horizontalAdvance(words) + 2;
    };

    // The memory roof's figure stands along its slope, above it.
    const QPointF from = place({ridge_ai - 1, std::log10(peak) - 1});
    const double dx = ridge.x() - from.x(), dy = ridge.y() - from.y();
    if (dx > 1) {
        const double low = value(area.bottomLeft()).x(), low_y = value(area.bottomLeft()).y();
        // Nearer to its lower end: the figures of the compute roofs stand above.
        const double start = std::max(low, low_y - std::log10(device.bandwidth_Bps));
        const double middle = start + 0.4 * (ridge_ai - start);
        const QPointF at = place({middle, middle + std::log10(device.bandwidth_Bps)});
        QTransform along;
        along.translate(at.x(), at.y());
        along.rotateRadians(std::atan2(dy, dx));
        painter.save();
        painter.setTransform(along, true);
        painter.setFont(uiFont(11, true));
        painter.setPen(colourOf(ColourRole::Text));
        const QString words = QLatin1String("HBM ") + text(formatBandwidth(device.bandwidth_Bps));
        painter.drawText(QRectF(-120, -22, 240, 16), Qt::AlignHCenter | Qt::AlignVCenter, words);
        const double half = QFontMetricsF(painter.font()).horizontalAdvance(words) / 2;
        for (int i = 0; 10 * i < 2 * half; ++i) // small pieces: its own rectangle would be mostly empty
            taken.hard.push_back(along.mapRect(QRectF(10 * i - half, -22, 10, 16)));
        painter.restore();
    }
    // Keep off the slope.
    const double left = value(area.topLeft()).x();
    for (int i = 0; i <= 40; ++i) {
        const double x = left + (ridge_ai - left) * i / 40;
        const QPointF p = place({x, x + std::log10(device.bandwidth_Bps)});
        taken.hard.emplace_back(p.x() - 6, p.y() - 4, 12, 8);
    }
    taken.hard.emplace_back(ridge.x(), ridge.y() - 2, std::max(0.0, area.right() - ridge.x()), 4);

    // The compute roofs: their figures above their right ends; they give way upwards, downwards, to the left.
    const auto roofNote = [&](double rate, const QString& name, ColourRole role, bool bold) {
        const double y = place({0, std::log10(rate)}).y();
        // Where the figure has no room, the name alone: the axis tells about where the roof is.
        for (const QString& words : {QString(name + QLatin1Char(' ') + text(formatFlopRate(rate))), name}) {
            const double right = area.right() - 6 - width(words, bold);
            std::vector<QPointF> corners;
            for (const double aside : {0.0, 48.0, 96.0})
                for (const double lower : {-18.0, -36.0, 3.0}) corners.emplace_back(right - aside, y + lower);
            // Before its left end, at the memory roof.
            corners.emplace_back(place({std::log10(rate / device.bandwidth_Bps), 0}).x() - 22 - width(words, bold),
                                 y - 10);
            if (note(corners, words, role, bold, words == name)) return;
        }
    };
    roofNote(peak,
             device.bf16_tensor > 0   ? QStringLiteral("bf16")
             : device.fp16_tensor > 0 ? QStringLiteral("fp16")
                                      : QStringLiteral("fp32"),
             ColourRole::Text, true);
    if (device.fp32 > 0 && device.fp32 < peak)
        roofNote(device.fp32, QStringLiteral("fp32"), ColourRole::TextMuted, false);

    // The ridge's figure stands beside the line that drops from it, as low as it is free.
    const QString figure = QCoreApplication::translate("fusescope::RooflinePanel", "ridge %1 FLOP/byte")
                               .arg(text(formatSignificant(peak / device.bandwidth_Bps)));
    std::vector<QPointF> corners;
    for (int i = 0; area.bottom() - 20 - 18 * i > ridge.y() + 8; ++i) {
        const double y = area.bottom() - 20 - 18 * i;
        corners.emplace_back(ridge.x() + 6, y);
        corners.emplace_back(ridge.x() - 6 - width(figure, false), y);
    }
    if (!corners.empty()) note(corners, figure, ColourRole::TextMuted, false, true);
    taken.soft.emplace_back(ridge.x() - 1, ridge.y(), 2, area.bottom() - ridge.y());
    return taken;
}

std::vector<QRectF> RooflineMarksItem::occupied() const {
    std::vector<QRectF> all = figures_;
    const SelectionSets& selection = session_->selection();
    const std::vector<QRectF> circles = circlesOf(marks_.size());
    for (std::size_t i = 0; i < circles.size(); ++i)
        if (selection.ops.empty() || chosen(selection, marks_[i].row)) all.push_back(circles[i]);
    return all;
}

std::vector<QRectF> RooflineMarksItem::circlesOf(std::size_t most) const {
    std::vector<QRectF> circles(std::min(most, std::min(marks_.size(), kPickable)));
    const SelectionSets& selection = session_->selection();
    for (std::size_t i = 0; i < circles.size(); ++i) {
        const double ring = chosen(selection, marks_[i].row) ? kRing + 1.5 : 0;
        const double r = marks_[i].radius + ring;
        circles[i] = QRectF(place(marks_[i].value) - QPointF(r, r), QSizeF(2 * r, 2 * r));
    }
    return circles;
}

RooflineMarksItem::Taken RooflineMarksItem::paintLabels(QPainter& painter, Taken taken) const {
    const QRectF area = plot();
    const SelectionSets& selection = session_->selection();
    const bool picking = !selection.ops.empty();
    painter.setFont(uiFont(11));
    const QFontMetricsF metrics(painter.font());
    const std::vector<QRectF> circles = circlesOf(100);
    if (others)
        for (const QRectF& one : others()) taken.hard.push_back(one);
    std::size_t labelled = 0;
    for (std::size_t i = 0; i < circles.size() && labelled < kLabels; ++i) {
        if (picking && !chosen(selection, marks_[i].row)) continue;
        const OpSummary& op = analysis_->ops[marks_[i].row];
        if (!picking && op.time_ns < analysis_->ops[marks_.front().row].time_ns * 0.01)
            break; // only noise from here on
        // In full where that is free; else the operator alone, over the ridge's line or a mark of the same operator if
        // it must: what takes most of the time shall not stay without a name.
        const bool leading = op.time_ns > analysis_->ops[marks_.front().row].time_ns * 0.5;
        for (const bool brief : {false, true}) {
            if (brief && !leading) break;
            const QString words = metrics.elidedText(brief ? shortLabelOf(op) : labelOf(op), Qt::ElideRight, 168);
            const double width = metrics.horizontalAdvance(words) + 4, height = 14;
            const QRectF& c = circles[i];
            const std::array<QPointF, 9> places = {{{c.right() + 4, c.center().y() - height / 2},
                                                    {c.left() - 4 - width, c.center().y() - height / 2},
                                                    {c.center().x() - width / 2, c.bottom() + 2},
                                                    {c.center().x() - width / 2, c.top() - 2 - height},
                                                    {c.right() - 2, c.bottom() - 2},
                                                    {c.right() - 2, c.top() + 2 - height},
                                                    {c.left() - width, c.center().y() + 4},
                                                    {c.center().x() - width / 2, c.bottom() + 16},
                                                    {c.center().x() - width / 2, c.bottom() + 30}}};
            constexpr std::size_t kNear = 7; // the others are for what must have a name
            bool done = false;
            for (std::size_t p = 0; p < (brief ? places.size() : kNear) && !done; ++p) {
                QRectF box(places[p], QSizeF(width, height));
                // Below and above, a label need not be centred.
                if (p == 2 || p == 3 || p >= kNear)
                    box.moveLeft(
                        std::clamp(box.left(), area.left() + 3, std::max(area.left() + 3, area.right() - width - 3)));
                if (!area.adjusted(2, 2, -2, -2).contains(box)) continue;
                const auto hits = [&](const QRectF& other) { return other.intersects(box); };
                if (std::any_of(taken.hard.begin(), taken.hard.end(), hits)) continue;
                const bool on_line = std::any_of(taken.soft.begin(), taken.soft.end(), hits);
                if (on_line && !brief) continue;
                bool covered = false;
                for (std::size_t j = 0; j < circles.size() && !covered; ++j)
                    covered =
                        j != i && circles[j].intersects(box) && !(brief && analysis_->ops[marks_[j].row].op == op.op);
                if (covered) continue;
                if (on_line) painter.fillRect(box, colourOf(ColourRole::Surface));
                painter.setPen(colourOf(ColourRole::Text));
                painter.drawText(box, Qt::AlignLeft | Qt::AlignVCenter, words);
                taken.hard.push_back(box);
                ++labelled;
                done = true;
            }
            if (done) break;
        }
    }
    return taken;
}

} // namespace fusescope
