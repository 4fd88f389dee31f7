// SPDX-License-Identifier: Apache-2.0
#include "core/draw/svg.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace fusescope {
namespace {

using fusescope::testing::xmlProblem;

DrawList everything(const std::string& text) {
    DrawList list;
    list.width = 200;
    list.height = 100;
    DrawRect rect;
    rect.x = 10;
    rect.width = 20;
    rect.height = 8;
    rect.hatched = rect.dashed = true;
    rect.stroke_width = 1;
    list.rects.push_back(rect);
    rect.filled = false;
    rect.emphasis = Emphasis::Selected;
    list.rects.push_back(rect);
    DrawLine line;
    line.points = {{0, 0}, {10, 10}, {30, 5}};
    line.smooth = line.arrow = true;
    list.lines.push_back(line);
    line.points = {{1, 1}};
    list.lines.push_back(line); // nothing to draw
    DrawText item;
    item.text = text;
    item.x = 5;
    item.y = 12;
    item.bold = item.mono = true;
    item.align = TextAlign::Right;
    list.texts.push_back(item);
    DrawMarker marker;
    marker.tooltip = text;
    marker.opacity = 0.5;
    list.markers.push_back(marker);
    return list;
}

TEST(Svg, WellFormedInBothThemesAndWithClasses) {
    const DrawList list = everything("plain");
    for (const Theme theme : {Theme::Light, Theme::Dark}) EXPECT_EQ(xmlProblem(svgText(list, theme)), "");
    EXPECT_EQ(xmlProblem(svgWithClasses(list, "a \"picture\" <of> it")), "");
    EXPECT_EQ(xmlProblem(svgText({}, Theme::Light)), "");
}

TEST(Svg, HostileTextStaysText) {
    const std::string hostile = std::string("</text><script>alert(1)</script>\"'&\x01\xff\n") + "\u202E";
    const std::string svg = svgText(everything(hostile), Theme::Light);
    EXPECT_EQ(xmlProblem(svg), "");
    EXPECT_EQ(svg.find("<script"), std::string::npos);
    EXPECT_NE(svg.find("\u2401"), std::string::npos); // the control character can be seen
}

TEST(Svg, LongTextIsCut) {
    EXPECT_LT(svgText(everything(std::string(100'000, 'A')), Theme::Light).size(), 6000U);
    DrawList list;
    DrawText text;
    text.text = std::string(300, 'A');
    text.max_width = 60;
    list.texts.push_back(text);
    EXPECT_NE(svgText(list, Theme::Light).find("…"), std::string::npos);
}

TEST(Svg, OddNumbersStayNumbers) {
    DrawList list = everything("x");
    list.rects[0].x = std::numeric_limits<double>::quiet_NaN();
    list.rects[0].width = std::numeric_limits<double>::infinity();
    list.rects[1].height = -5;
    list.lines[0].points[1] = {1e300, -1e300};
    list.width = std::numeric_limits<double>::quiet_NaN();
    const std::string svg = svgText(list, Theme::Dark);
    EXPECT_EQ(xmlProblem(svg), "");
    for (const char* bad : {"nan", "inf", "e+", "=\"-5\""}) EXPECT_EQ(svg.find(bad), std::string::npos) << bad;
}

TEST(Svg, LayersArePaintedInOrder) {
    DrawList list;
    for (const int layer : {2, -1, 0}) {
        DrawText text;
        text.text = "layer" + std::to_string(layer);
        text.layer = static_cast<std::int8_t>(layer);
        list.texts.push_back(text);
    }
    const std::string svg = svgText(list, Theme::Light);
    EXPECT_LT(svg.find("layer-1"), svg.find("layer0"));
    EXPECT_LT(svg.find("layer0"), svg.find("layer2"));
}

TEST(Svg, ClassesAreDefined) {
    const std::string css = svgClassesCss();
    const int roles = static_cast<int>(ColourRole::Count_);
    EXPECT_NE(css.find(".f" + std::to_string(roles - 1) + "{"), std::string::npos);
    EXPECT_EQ(css.find(".f" + std::to_string(roles) + "{"), std::string::npos);
    EXPECT_NE(themeVariablesCss(Theme::Dark).find("--c0:#1e1f22"), std::string::npos);
}

TEST(Dump, OneLineAnItem) {
    const std::string text = dump(everything("x\"y"));
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
    EXPECT_NE(text.find("hatched"), std::string::npos);
    EXPECT_NE(text.find("selected"), std::string::npos);
}

} // namespace
} // namespace fusescope
