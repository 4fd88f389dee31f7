// SPDX-License-Identifier: Apache-2.0
// Pictures as plain data: the window paints a DrawList with QPainter, the report writes the same list as SVG, tests
// compare lists instead of pixels. Coordinates: pixels, y down. Items are painted in order of layer, then of insertion.
#pragma once

#include "core/analysis/selection.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fusescope {

enum class ColourRole : std::uint8_t {
    // surfaces and text
    Background,
    Surface,
    SurfaceRaised,
    Border,
    Grid,
    Text,
    TextMuted,
    TextOnFill,
    Accent,
    Flagged,
    Danger,
    Warning,
    Good,
    // kinds (OpKind order)
    KindAttention,
    KindMatmul,
    KindNorm,
    KindRope,
    KindMlp,
    KindElementwise,
    KindCopy,
    KindEmbedding,
    KindLoss,
    KindOptimizer,
    KindCommunication,
    KindOther,
    // bounds
    BoundMemory,
    BoundCompute,
    BoundLaunch,
    BoundIdle,
    // model blocks (the article's figure): fills and their strokes
    BlockEmbedding,
    BlockEmbeddingStroke,
    BlockAttentionMlp,
    BlockAttentionMlpStroke,
    BlockLayer,
    BlockLayerStroke,
    BlockNorm,
    BlockNormStroke,
    BlockPlain,
    BlockPlainStroke,
    // timeline
    CpuOp,
    Launch,
    PythonFrame,
    Annotation,
    Count_,
};
struct Rgb {
    std::uint8_t r = 0, g = 0, b = 0;
};
enum class Theme : std::uint8_t { Light, Dark };
[[nodiscard]] Rgb colour(ColourRole role, Theme theme) noexcept; // text on its surface: contrast >= 4.5
[[nodiscard]] ColourRole roleOf(OpKind kind) noexcept;
[[nodiscard]] std::string hex(Rgb rgb);                          // "#fde8a9"
[[nodiscard]] std::string_view nameOf(ColourRole role) noexcept; // "KindNorm"
// The role that text on this fill takes (contrast >= 4.5). The same in both themes, so that one draw list serves both.
[[nodiscard]] ColourRole textOn(ColourRole fill) noexcept;

enum class TextAlign : std::uint8_t { Left, Centre, Right };
enum class Emphasis : std::uint8_t { Normal, Dimmed, Selected }; // Dimmed: something else is selected

struct DrawRect {
    double x = 0, y = 0, width = 0, height = 0, radius = 0;
    ColourRole fill = ColourRole::Surface, stroke = ColourRole::Border;
    double stroke_width = 0;                             // 0 = none
    bool filled = true, dashed = false, hatched = false; // hatched: several slices folded
    Emphasis emphasis = Emphasis::Normal;
    std::int8_t layer = 0;
    Pick pick; // what a click here selects
};
struct DrawLine {
    std::vector<std::pair<double, double>> points;
    ColourRole stroke = ColourRole::Border;
    double width = 1;
    bool dashed = false, arrow = false, smooth = false; // arrow at the last point
    Emphasis emphasis = Emphasis::Normal;
    std::int8_t layer = 0;
    Pick pick;
};
struct DrawText {
    double x = 0, y = 0; // baseline start / centre / end by align
    std::string text;
    double size = 12; // pixels
    TextAlign align = TextAlign::Left;
    ColourRole fill = ColourRole::Text;
    bool bold = false, mono = false;
    double max_width = 0; // > 0: elided with "…" to fit
    Emphasis emphasis = Emphasis::Normal;
    std::int8_t layer = 1;
    Pick pick;
};
struct DrawMarker { // a circle
    double x = 0, y = 0, radius = 3;
    ColourRole fill = ColourRole::Accent, stroke = ColourRole::Border;
    double stroke_width = 1;
    double opacity = 1;
    Emphasis emphasis = Emphasis::Normal;
    std::int8_t layer = 1;
    Pick pick;
    std::string tooltip;
};
struct DrawList {
    double width = 0, height = 0;
    std::vector<DrawRect> rects;
    std::vector<DrawLine> lines;
    std::vector<DrawText> texts;
    std::vector<DrawMarker> markers;
};

[[nodiscard]] std::string svgText(const DrawList& list, Theme theme);
// Text dump, one item a line, for tests.
[[nodiscard]] std::string dump(const DrawList& list);

} // namespace fusescope
