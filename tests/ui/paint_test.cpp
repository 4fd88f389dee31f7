// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/base/paint.h"

#include "core/draw/timeline_draw.h"
#include "tests/support/synthetic_analysis.h"

#include <QImage>
#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>

using namespace fusescope;

namespace {

QImage painted(const DrawList& list, Theme theme, const QRectF& visible = {}, double zoom = 1) {
    QImage image(200, 120, QImage::Format_ARGB32_Premultiplied);
    image.fill(qColor(ColourRole::Background, theme));
    QPainter painter(&image);
    painter.scale(zoom, zoom);
    paintDrawList(painter, list, theme, visible);
    return image;
}

DrawRect rect(double x, double y, double w, double h, ColourRole fill, std::uint32_t id, int layer = 0) {
    DrawRect r;
    r.x = x;
    r.y = y;
    r.width = w;
    r.height = h;
    r.fill = fill;
    r.layer = static_cast<std::int8_t>(layer);
    if (id > 0) r.pick = {PickKind::Node, id};
    return r;
}

double luminance(const QColor& c) {
    const auto part = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
    return 0.2126 * part(c.redF()) + 0.7152 * part(c.greenF()) + 0.0722 * part(c.blueF());
}
double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

} // namespace

class PaintTest : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fillsARectangle() {
        DrawList list;
        list.rects.push_back(rect(10, 10, 50, 30, ColourRole::KindNorm, 1));
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            const QImage image = painted(list, theme);
            QCOMPARE(image.pixelColor(30, 20), qColor(ColourRole::KindNorm, theme));
            QCOMPARE(image.pixelColor(100, 20), qColor(ColourRole::Background, theme));
        }
    }

    void paintsLayersFromBelow() {
        DrawList list;
        list.rects.push_back(rect(10, 10, 50, 30, ColourRole::KindNorm, 1, 3));
        list.rects.push_back(rect(10, 10, 50, 30, ColourRole::KindMlp, 2, -2)); // later, but lower
        QCOMPARE(painted(list, Theme::Light).pixelColor(30, 20), qColor(ColourRole::KindNorm, Theme::Light));
    }

    void dimsAndSelects() {
        DrawList list;
        DrawRect dimmed = rect(10, 10, 40, 30, ColourRole::KindNorm, 1);
        dimmed.emphasis = Emphasis::Dimmed;
        DrawRect selected = rect(100, 10, 40, 30, ColourRole::KindNorm, 2);
        selected.emphasis = Emphasis::Selected;
        list.rects = {dimmed, selected};
        const QImage image = painted(list, Theme::Light);
        const QColor full = qColor(ColourRole::KindNorm, Theme::Light);
        QVERIFY(image.pixelColor(30, 25).green() > full.green());
        QCOMPARE(image.pixelColor(120, 25), full);
        QCOMPARE(image.pixelColor(100, 25), qColor(ColourRole::Accent, Theme::Light)); // the frame
    }

    void skipsWhatIsOutOfSight() {
        DrawList list;
        list.rects.push_back(rect(10, 10, 50, 30, ColourRole::KindNorm, 1));
        const QImage image = painted(list, Theme::Light, QRectF(100, 0, 50, 50));
        QCOMPARE(image.pixelColor(30, 20), qColor(ColourRole::Background, Theme::Light));
    }

    void paintsEverySortOfItem() {
        DrawList list;
        DrawRect hatched = rect(5, 5, 40, 30, ColourRole::KindNorm, 0);
        hatched.hatched = hatched.dashed = true;
        hatched.radius = 6;
        hatched.stroke_width = 1;
        list.rects.push_back(hatched);
        DrawLine line;
        line.points = {{10, 100}, {60, 60}, {120, 100}, {190, 50}};
        line.arrow = line.smooth = line.dashed = true;
        list.lines.push_back(line);
        line.points = {{10, 10}};
        list.lines.push_back(line); // too short to be one
        line.points = {{10, 10}, {10, 10}};
        list.lines.push_back(line);
        DrawMarker marker;
        marker.x = 150;
        marker.y = 60;
        marker.radius = 8;
        marker.opacity = 0.5;
        list.markers.push_back(marker);
        for (const TextAlign align : {TextAlign::Left, TextAlign::Centre, TextAlign::Right}) {
            DrawText words;
            words.x = 100;
            words.y = 110;
            words.text = "words that are too long \xff\xfe<b>";
            words.max_width = 60;
            words.align = align;
            words.mono = words.bold = align == TextAlign::Right;
            list.texts.push_back(words);
        }
        const QImage blank = painted({}, Theme::Dark);
        for (const double zoom : {0.3, 1.0, 2.7}) QVERIFY(painted(list, Theme::Dark, {}, zoom) != blank);
    }

    void paintsHostileNumbers() {
        DrawList list;
        constexpr double endless = std::numeric_limits<double>::infinity();
        for (const double v : {std::numeric_limits<double>::quiet_NaN(), endless, -endless, 1e300}) {
            list.rects.push_back(rect(v, v, v, v, ColourRole::KindNorm, 1));
            list.rects.push_back(rect(0, 0, -5, v, ColourRole::Count_, 1));
        }
        painted(list, Theme::Light);
        (void)pickAt(list, {10, 10});
    }

    void picksTheTopmost() {
        DrawList list;
        list.rects.push_back(rect(0, 0, 100, 100, ColourRole::Surface, 1, 0));
        list.rects.push_back(rect(20, 20, 40, 40, ColourRole::Surface, 2, 2));
        list.rects.push_back(rect(30, 30, 10, 10, ColourRole::Surface, 3, 1)); // below the second
        list.rects.push_back(rect(25, 25, 10, 10, ColourRole::Surface, 0, 5)); // picks nothing
        QCOMPARE(pickAt(list, {5, 5}).id, 1U);
        QCOMPARE(pickAt(list, {32, 32}).id, 2U);
        QCOMPARE(pickAt(list, {300, 5}).kind, PickKind::None);
        DrawMarker marker;
        marker.x = marker.y = 32;
        marker.layer = -5;
        marker.pick = {PickKind::Op, 9};
        list.markers.push_back(marker);
        QCOMPARE(pickAt(list, {32, 32}).id, 9U); // markers first, wherever they lie
    }

    void picksLinesNearby() {
        DrawList list;
        DrawLine line;
        line.points = {{0, 50}, {100, 50}};
        line.pick = {PickKind::Node, 4};
        list.lines.push_back(line);
        QCOMPARE(pickAt(list, {50, 53}).id, 4U);
        QCOMPARE(pickAt(list, {50, 56}).kind, PickKind::None);
        QCOMPARE(pickAt(list, {106, 50}).kind, PickKind::None);
    }

    void palettesCanBeRead() {
        for (const Theme theme : {Theme::Light, Theme::Dark}) {
            const QPalette p = paletteOf(theme);
            QVERIFY(contrast(p.color(QPalette::WindowText), p.color(QPalette::Window)) >= 4.5);
            QVERIFY(contrast(p.color(QPalette::Text), p.color(QPalette::Base)) >= 4.5);
            QVERIFY(contrast(p.color(QPalette::ButtonText), p.color(QPalette::Button)) >= 4.5);
            QVERIFY(contrast(p.color(QPalette::HighlightedText), p.color(QPalette::Highlight)) >= 4.5);
            QVERIFY(contrast(p.color(QPalette::PlaceholderText), p.color(QPalette::Window)) >= 4.5);
            QVERIFY(contrast(p.color(QPalette::ToolTipText), p.color(QPalette::ToolTipBase)) >= 4.5);
            QVERIFY(!styleSheetOf(theme).contains(QLatin1Char('%')));
        }
    }

    void textIsAlwaysUnicode() {
        QCOMPARE(text("µs"), QStringLiteral("µs"));
        QVERIFY(text("a\xff"
                     "b")
                    .contains(QChar(0xFFFD)));
        QCOMPARE(text({}), QString());
    }

    void paintsTheRealPictures() {
        const AnalysisPtr analysis = testing::syntheticAnalysis();
        const TimelineLayout rows = timelineLayout(*analysis, {});
        TimelineView view;
        view.t0 = analysis->trace->begin;
        view.t1 = analysis->trace->end;
        view.width = 200;
        view.height = 120;
        const DrawList list = drawTimeline(*analysis, rows, view, {});
        QVERIFY(painted(list, Theme::Light) != painted({}, Theme::Light));
    }
};

QTEST_MAIN(PaintTest)
#include "paint_test.moc"
