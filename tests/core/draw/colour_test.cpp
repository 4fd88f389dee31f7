// SPDX-License-Identifier: Apache-2.0
#include "core/draw/draw_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace fusescope {
namespace {

constexpr std::array<Theme, 2> kThemes = {Theme::Light, Theme::Dark};

double linear(std::uint8_t value) {
    const double c = value / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(Rgb c) { return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b); }

double contrast(ColourRole a, ColourRole b, Theme theme) { // WCAG 2
    const double x = luminance(colour(a, theme)), y = luminance(colour(b, theme));
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

std::vector<ColourRole> roles(ColourRole first, ColourRole last) {
    std::vector<ColourRole> all;
    for (int i = static_cast<int>(first); i <= static_cast<int>(last); ++i) all.push_back(static_cast<ColourRole>(i));
    return all;
}

using Vec = std::array<double, 3>;

Vec times(const std::array<Vec, 3>& m, const Vec& v) {
    Vec out{};
    for (std::size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
    return out;
}

// Machado 2009, full severity, on linear RGB.
const std::array<std::array<Vec, 3>, 4> kSight = {{
    {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
    {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}},
    {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}},
    {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}},
}};

Vec oklab(Rgb c, const std::array<Vec, 3>& sight) {
    Vec rgb = times(sight, {linear(c.r), linear(c.g), linear(c.b)});
    for (double& v : rgb) v = std::clamp(v, 0.0, 1.0);
    Vec lms = times({{{0.4122214708, 0.5363325363, 0.0514459929},
                      {0.2119034982, 0.6806995451, 0.1073969566},
                      {0.0883024619, 0.2817188376, 0.6299787005}}},
                    rgb);
    for (double& v : lms) v = std::cbrt(v);
    return times({{{0.2104542553, 0.7936177850, -0.0040720468},
                   {1.9779984951, -2.4285922050, 0.4505937099},
                   {0.0259040371, 0.7827717662, -0.8086757660}}},
                 lms);
}

TEST(Colour, TextReadsOnEverySurface) {
    for (const Theme theme : kThemes)
        for (const ColourRole text : {ColourRole::Text, ColourRole::TextMuted})
            for (const ColourRole surface : {ColourRole::Background, ColourRole::Surface, ColourRole::SurfaceRaised})
                EXPECT_GE(contrast(text, surface, theme), 4.5)
                    << nameOf(text) << " on " << nameOf(surface) << ' ' << static_cast<int>(theme);
}

TEST(Colour, TextReadsOnEveryFill) {
    std::vector<ColourRole> fills = roles(ColourRole::KindAttention, ColourRole::BoundIdle);
    for (const ColourRole block :
         {ColourRole::BlockEmbedding, ColourRole::BlockAttentionMlp, ColourRole::BlockLayer, ColourRole::BlockNorm,
          ColourRole::BlockPlain, ColourRole::CpuOp, ColourRole::Launch, ColourRole::PythonFrame,
          ColourRole::Annotation, ColourRole::Accent, ColourRole::Flagged, ColourRole::Danger, ColourRole::Warning,
          ColourRole::Good, ColourRole::Background, ColourRole::Surface, ColourRole::SurfaceRaised})
        fills.push_back(block);
    for (const Theme theme : kThemes)
        for (const ColourRole fill : fills)
            EXPECT_GE(contrast(textOn(fill), fill, theme), 4.5)
                << nameOf(textOn(fill)) << " on " << nameOf(fill) << ' ' << static_cast<int>(theme);
}

TEST(Colour, WordsInSignalColoursRead) {
    for (const Theme theme : kThemes)
        for (const ColourRole text : {ColourRole::Danger, ColourRole::Warning, ColourRole::Good, ColourRole::Accent})
            for (const ColourRole surface : {ColourRole::Background, ColourRole::Surface})
                EXPECT_GE(contrast(text, surface, theme), 4.5) << nameOf(text) << " on " << nameOf(surface);
}

TEST(Colour,
     MarksStandOutFromThePage) { // WCAG 1.4.11: graphical objects, 3:1; a little less for amber, which has a label too
    for (const Theme theme : kThemes)
        for (const ColourRole mark : {ColourRole::Accent, ColourRole::Flagged})
            EXPECT_GE(contrast(mark, ColourRole::Surface, theme), 2.8) << nameOf(mark);
}

TEST(Colour, KindsDifferForEveryEye) {
    const std::vector<ColourRole> kinds = roles(ColourRole::KindAttention, ColourRole::KindOther);
    for (const Theme theme : kThemes)
        for (std::size_t sight = 0; sight < kSight.size(); ++sight)
            for (std::size_t i = 0; i < kinds.size(); ++i)
                for (std::size_t j = i + 1; j < kinds.size(); ++j) {
                    const Vec a = oklab(colour(kinds[i], theme), kSight[sight]),
                              b = oklab(colour(kinds[j], theme), kSight[sight]);
                    const double distance = std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
                    EXPECT_GE(distance, 0.065)
                        << nameOf(kinds[i]) << " and " << nameOf(kinds[j]) << ", sight " << sight;
                }
}

TEST(Colour, TheArticlesBlocks) {
    EXPECT_EQ(hex(colour(ColourRole::BlockEmbedding, Theme::Light)), "#fde8a9");
    EXPECT_EQ(hex(colour(ColourRole::BlockEmbeddingStroke, Theme::Light)), "#e7c56d");
    EXPECT_EQ(hex(colour(ColourRole::BlockAttentionMlp, Theme::Light)), "#d4e8cf");
    EXPECT_EQ(hex(colour(ColourRole::BlockAttentionMlpStroke, Theme::Light)), "#94c18a");
    EXPECT_EQ(hex(colour(ColourRole::BlockLayer, Theme::Light)), "#cfe0f3");
    EXPECT_EQ(hex(colour(ColourRole::BlockLayerStroke, Theme::Light)), "#8ab0db");
    EXPECT_EQ(hex(colour(ColourRole::BlockNorm, Theme::Light)), "#f6ced0");
    EXPECT_EQ(hex(colour(ColourRole::BlockNormStroke, Theme::Light)), "#d98f92");
}

TEST(Colour, KindsMapInOrder) {
    EXPECT_EQ(roleOf(OpKind::Attention), ColourRole::KindAttention);
    EXPECT_EQ(roleOf(OpKind::Norm), ColourRole::KindNorm);
    EXPECT_EQ(roleOf(OpKind::Other), ColourRole::KindOther);
    EXPECT_EQ(roleOf(static_cast<OpKind>(200)), ColourRole::KindOther);
}

} // namespace
} // namespace fusescope
