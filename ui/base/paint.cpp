// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/paint.h"

#include "core/draw/text_fit.h"

#include <QFontDatabase>
#include <QFontMetricsF>
#include <QHash>
#include <QPainterPath>
#include <QPolygonF>
#include <QStaticText>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_map>

namespace fusescope {
namespace {

constexpr double kDimmed = 0.35;    // share of its opacity that a dimmed item keeps
constexpr double kArrow = 7;        // length of an arrow head
constexpr double kPickDistance = 4; // a line is hit within so many pixels
constexpr std::size_t kCachedTexts = 8192;

double shown(Emphasis emphasis) noexcept { return emphasis == Emphasis::Dimmed ? kDimmed : 1.0; }

// Text laid out once: shaping is the dearest part of a frame, and pictures repeat their words.
struct TextKey {
    std::string text;
    int size = 0, width = 0; // size in quarters of a pixel, width in pixels
    bool bold = false, mono = false;
    friend bool operator==(const TextKey&, const TextKey&) = default;
};
struct TextKeyHash {
    std::size_t operator()(const TextKey& key) const noexcept {
        const auto numbers = static_cast<std::size_t>(key.size) * 4 + (key.bold ? 2U : 0U) + (key.mono ? 1U : 0U);
        return std::hash<std::string>{}(key.text) ^ (numbers * 0x9E3779B97F4A7C15U) ^
               (static_cast<std::size_t>(key.width) << 20U);
    }
};
struct LaidText {
    QStaticText text;
    double width = 0, ascent = 0;
};

class TextCache {
public:
    const QFont& font(int quarter_pixels, bool bold, bool mono) { return face(quarter_pixels, bold, mono).font; }

    const LaidText& text(const DrawText& item) {
        TextKey key{item.text, static_cast<int>(std::lround(std::clamp(item.size, 1.0, 400.0) * 4)),
                    item.max_width > 0 ? std::max(1, static_cast<int>(std::min(item.max_width, 1e6))) : 0, item.bold,
                    item.mono};
        const auto found = texts_.find(key);
        if (found != texts_.end()) return found->second;
        if (texts_.size() >= kCachedTexts) texts_.clear();
        const Face& with = face(key.size, key.bold, key.mono);
        LaidText laid;
        QString words = fusescope::text(visibleText(key.text, 1024));
        if (key.width > 0) words = with.metrics.elidedText(words, Qt::ElideRight, key.width);
        laid.width = with.metrics.horizontalAdvance(words);
        laid.ascent = with.metrics.ascent();
        laid.text = QStaticText(words);
        laid.text.setTextFormat(Qt::PlainText);
        laid.text.setPerformanceHint(QStaticText::AggressiveCaching);
        laid.text.prepare({}, with.font);
        return texts_.emplace(std::move(key), std::move(laid)).first->second;
    }

private:
    struct Face {
        QFont font;
        QFontMetricsF metrics;
    };
    const Face& face(int quarter_pixels, bool bold, bool mono) {
        const int key = quarter_pixels * 4 + (bold ? 2 : 0) + (mono ? 1 : 0);
        auto found = faces_.find(key);
        if (found == faces_.end()) {
            const QFont font = uiFont(quarter_pixels / 4.0, bold, mono);
            found = faces_.emplace(key, Face{font, QFontMetricsF(font)}).first;
        }
        return found->second;
    }

    std::unordered_map<int, Face> faces_;
    std::unordered_map<TextKey, LaidText, TextKeyHash> texts_;
};

TextCache& textCache() { // of the GUI thread, as all painting here
    static auto* cache =
        new TextCache; // never destroyed: fonts must not outlive the application object by order of exit
    return *cache;
}

class Painter {
public:
    Painter(QPainter& painter, const DrawList& list, Theme theme, const QRectF& visible)
        : painter_(painter), list_(list), culls_(!visible.isEmpty()), visible_(visible) {
        for (std::size_t i = 0; i < colours_.size(); ++i) colours_[i] = qColor(static_cast<ColourRole>(i), theme);
        hatch_ = colours_[static_cast<std::size_t>(ColourRole::Background)];
        hatch_.setAlphaF(0.45F);
        zoomed_ = painter.transform().isScaling();
    }

    void paint() {
        std::array<bool, 256> used{};
        const auto mark = [&](const auto& items) {
            for (const auto& item : items) used[static_cast<std::uint8_t>(item.layer + 128)] = true;
        };
        mark(list_.rects);
        mark(list_.lines);
        mark(list_.markers);
        mark(list_.texts);
        for (int layer = -128; layer < 128; ++layer) {
            if (!used[static_cast<std::uint8_t>(layer + 128)]) continue;
            pass(list_.rects, layer);
            pass(list_.lines, layer);
            pass(list_.markers, layer);
            pass(list_.texts, layer);
        }
    }

private:
    template <class Item> void pass(const std::vector<Item>& items, int layer) {
        for (const Item& one : items)
            if (one.layer == layer) item(one);
    }

    [[nodiscard]] QColor colourOf(ColourRole role, double opacity) const {
        QColor found = colours_[std::min(static_cast<std::size_t>(role), colours_.size() - 1)];
        if (opacity < 1) found.setAlphaF(static_cast<float>(opacity));
        return found;
    }
    // Setting a pen or a brush is dear, and neighbours mostly share theirs.
    void smooth(bool on) { painter_.setRenderHint(QPainter::Antialiasing, on); }
    [[nodiscard]] bool outside(double x0, double y0, double x1, double y1) const noexcept {
        return culls_ &&
               (x1 < visible_.left() || x0 > visible_.right() || y1 < visible_.top() || y0 > visible_.bottom());
    }

    void item(const DrawRect& r) {
        if (outside(r.x - 2, r.y - 2, r.x + r.width + 2, r.y + r.height + 2)) return;
        const bool selected = r.emphasis == Emphasis::Selected;
        double stroke = selected ? std::max(2.0, r.stroke_width) : r.stroke_width;
        QRectF rect(r.x, r.y, std::max(0.0, r.width), std::max(0.0, r.height));
        const double opacity = shown(r.emphasis);
        if (selected && r.filled && r.width < 5) { // a frame would cover it: it takes the accent itself
            smooth(false);
            painter_.fillRect(rect, colourOf(ColourRole::Accent, 1));
            return;
        }
        const bool plain = r.radius <= 0 && (stroke <= 0 || selected);
        if (r.filled && plain) {
            smooth(zoomed_);
            painter_.fillRect(rect, colourOf(r.fill, opacity));
        } else if (r.filled && stroke <= 0) {
            smooth(true);
            painter_.setPen(Qt::NoPen);
            painter_.setBrush(colourOf(r.fill, opacity));
            painter_.drawRoundedRect(rect, r.radius, r.radius);
        }
        if (r.hatched && r.filled && r.width >= 4) hatch(rect);
        if (stroke <= 0) return;
        smooth(true);
        QPen pen(colourOf(selected ? ColourRole::Accent : r.stroke, selected ? 1 : opacity), stroke);
        pen.setJoinStyle(r.radius > 0 ? Qt::RoundJoin : Qt::MiterJoin);
        if (r.dashed) pen.setDashPattern({4 / stroke, 3 / stroke});
        painter_.setPen(pen);
        painter_.setBrush(r.filled && !plain ? QBrush(colourOf(r.fill, opacity)) : QBrush(Qt::NoBrush));
        if (!zoomed_) { // strokes on whole pixels are sharp
            const double half = std::fmod(stroke, 2.0) == 1.0 ? 0.5 : 0.0;
            rect = QRectF(QPointF(std::round(rect.left()) + half, std::round(rect.top()) + half),
                          QPointF(std::round(rect.right()) - half, std::round(rect.bottom()) - half));
        }
        if (r.radius > 0)
            painter_.drawRoundedRect(rect, r.radius, r.radius);
        else
            painter_.drawRect(rect);
    }

    void hatch(const QRectF& rect) {
        smooth(false);
        painter_.fillRect(rect, QBrush(hatch_, Qt::BDiagPattern));
    }

    static QPainterPath pathOf(const std::vector<QPointF>& points, bool curved) {
        QPainterPath path(points.front());
        for (std::size_t i = 1; i < points.size(); ++i) {
            if (!curved) {
                path.lineTo(points[i]);
                continue;
            }
            // Catmull-Rom through the points, as cubic Bezier pieces: the same curve as in the report.
            const QPointF a = points[i >= 2 ? i - 2 : 0], b = points[i - 1], c = points[i];
            const QPointF d = points[i + 1 < points.size() ? i + 1 : i];
            path.cubicTo(b + (c - a) / 6, c - (d - b) / 6, c);
        }
        return path;
    }

    void item(const DrawLine& line) {
        if (line.points.size() < 2) return;
        double x0 = line.points[0].first, x1 = x0, y0 = line.points[0].second, y1 = y0;
        for (const auto& [x, y] : line.points) {
            x0 = std::min(x0, x);
            x1 = std::max(x1, x);
            y0 = std::min(y0, y);
            y1 = std::max(y1, y);
        }
        if (outside(x0 - kArrow, y0 - kArrow, x1 + kArrow, y1 + kArrow)) return;
        const bool selected = line.emphasis == Emphasis::Selected;
        const QColor ink = colourOf(selected ? ColourRole::Accent : line.stroke, shown(line.emphasis));
        const double width = selected ? line.width + 0.5 : line.width;
        QPen pen(ink, width);
        pen.setCapStyle(Qt::FlatCap);
        if (line.dashed) pen.setDashPattern({4 / std::max(0.5, width), 3 / std::max(0.5, width)});
        painter_.setPen(pen);
        painter_.setBrush(Qt::NoBrush);
        if (line.points.size() == 2 && !line.arrow && !zoomed_ &&
            (x0 == x1 || y0 == y1)) { // a rule: sharp, no smoothing
            smooth(false);
            painter_.drawLine(QPointF(std::floor(x0), std::floor(y0)), QPointF(std::floor(x1), std::floor(y1)));
            return;
        }
        smooth(true);
        std::vector<QPointF> points;
        points.reserve(line.points.size());
        for (const auto& [x, y] : line.points) points.emplace_back(x, y);
        const QPointF tip = points.back(), along = tip - points[points.size() - 2];
        const double length = std::hypot(along.x(), along.y());
        if (line.arrow && length > kArrow) points.back() = tip - along / length * (kArrow - 1);
        if (points.size() == 2)
            painter_.drawLine(points[0], points[1]);
        else
            painter_.drawPath(pathOf(points, line.smooth));
        if (!line.arrow || !(length > 0)) return;
        const QPointF unit = along / length, back = tip - unit * kArrow,
                      side(-unit.y() * kArrow * 0.42, unit.x() * kArrow * 0.42);
        painter_.setPen(Qt::NoPen);
        painter_.setBrush(ink);
        const std::array<QPointF, 3> head = {tip, back + side, back - side};
        painter_.drawConvexPolygon(head.data(), 3);
    }

    void item(const DrawText& text) {
        if (text.text.empty()) return;
        const double reach = text.max_width > 0 ? text.max_width : static_cast<double>(text.text.size()) * text.size;
        if (outside(text.x - reach, text.y - text.size * 1.5, text.x + reach, text.y + text.size)) return;
        const LaidText& laid = textCache().text(text);
        double x = text.x;
        if (text.align == TextAlign::Centre)
            x -= laid.width / 2;
        else if (text.align == TextAlign::Right)
            x -= laid.width;
        const bool accent = text.emphasis == Emphasis::Selected && text.fill == ColourRole::Text;
        painter_.setPen(colourOf(accent ? ColourRole::Accent : text.fill, shown(text.emphasis)));
        painter_.setFont(textCache().font(static_cast<int>(std::lround(std::clamp(text.size, 1.0, 400.0) * 4)),
                                          text.bold, text.mono));
        painter_.drawStaticText(QPointF(x, text.y - laid.ascent), laid.text);
    }

    void item(const DrawMarker& marker) {
        const double reach = marker.radius + 3;
        if (outside(marker.x - reach, marker.y - reach, marker.x + reach, marker.y + reach)) return;
        const bool selected = marker.emphasis == Emphasis::Selected;
        const double stroke = selected ? std::max(2.5, marker.stroke_width) : marker.stroke_width;
        smooth(true);
        if (stroke > 0)
            painter_.setPen(
                QPen(colourOf(selected ? ColourRole::Accent : marker.stroke, shown(marker.emphasis)), stroke));
        else
            painter_.setPen(Qt::NoPen);
        painter_.setBrush(colourOf(marker.fill, marker.opacity * shown(marker.emphasis)));
        painter_.drawEllipse(QPointF(marker.x, marker.y), marker.radius, marker.radius);
    }

    QPainter& painter_;
    const DrawList& list_;
    bool culls_ = false, zoomed_ = false;
    QRectF visible_;
    QColor hatch_;
    std::array<QColor, static_cast<std::size_t>(ColourRole::Count_)> colours_;
};

double distance(QPointF p, QPointF a, QPointF b) noexcept {
    const QPointF along = b - a, to = p - a;
    const double length = QPointF::dotProduct(along, along);
    const double t = length > 0 ? std::clamp(QPointF::dotProduct(to, along) / length, 0.0, 1.0) : 0.0;
    const QPointF off = to - along * t;
    return std::hypot(off.x(), off.y());
}

} // namespace

QColor qColor(ColourRole role, Theme theme) {
    const Rgb rgb = colour(role, theme);
    return QColor(rgb.r, rgb.g, rgb.b);
}

void paintDrawList(QPainter& painter, const DrawList& list, Theme theme, const QRectF& visible) {
    painter.save();
    Painter(painter, list, theme, visible).paint();
    painter.restore();
}

Pick pickAt(const DrawList& list, QPointF point) {
    Pick best;
    int best_layer = std::numeric_limits<int>::min();
    const auto take = [&](const Pick& pick, int layer) {
        if (pick.kind == PickKind::None || layer < best_layer) return; // equal layers: the later one lies on top
        best = pick;
        best_layer = layer;
    };
    for (const DrawMarker& m : list.markers)
        if (std::hypot(point.x() - m.x, point.y() - m.y) <= std::max(m.radius, 3.0) + 1) take(m.pick, m.layer);
    if (best.kind != PickKind::None) return best;
    for (const DrawRect& r : list.rects) {
        const double slack = r.width < 3 ? 1 : 0;
        if (point.x() >= r.x - slack && point.x() < r.x + r.width + slack && point.y() >= r.y &&
            point.y() < r.y + r.height)
            take(r.pick, r.layer);
    }
    if (best.kind != PickKind::None) return best;
    for (const DrawLine& line : list.lines) {
        if (line.pick.kind == PickKind::None) continue;
        for (std::size_t i = 1; i < line.points.size(); ++i) {
            const QPointF a(line.points[i - 1].first, line.points[i - 1].second),
                b(line.points[i].first, line.points[i].second);
            if (distance(point, a, b) <= kPickDistance) take(line.pick, line.layer);
        }
    }
    return best;
}

QFont uiFont(double pixels, bool bold, bool mono) {
    QFont font = QFontDatabase::systemFont(mono ? QFontDatabase::FixedFont : QFontDatabase::GeneralFont);
    font.setPixelSize(std::max(1, static_cast<int>(std::lround(pixels))));
    font.setWeight(bold ? QFont::DemiBold : QFont::Normal);
    font.setHintingPreference(QFont::PreferNoHinting);
    return font;
}

QString text(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }

} // namespace fusescope
