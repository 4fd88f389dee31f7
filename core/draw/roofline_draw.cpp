// SPDX-License-Identifier: Apache-2.0
// Axes and roofs. The memory roof is the data sheet's peak; the thinner line is what a plain copy reaches, which is as
// far as a fused kernel can go.
#include "core/draw/compose.h"
#include "core/draw/roofline_parts.h"
#include "core/draw/text_fit.h"

#include "core/base/format.h"
#include "core/draw/names.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

namespace fusescope {
namespace {

using namespace roofline;

double decadeBelow(double v) noexcept { return std::pow(10.0, std::floor(std::log10(v) + 1e-9)); }
double decadeAbove(double v) noexcept { return std::pow(10.0, std::ceil(std::log10(v) - 1e-9)); }

int decades(double low, double high) noexcept { return static_cast<int>(std::lround(std::log10(high / low))); }

double topPeak(const DeviceSpec& device) noexcept {
    return device.bf16_tensor > 0 ? device.bf16_tensor : std::max(device.fp16_tensor, device.fp32);
}

std::string_view sourceText(DeviceSource source) noexcept {
    switch (source) {
    case DeviceSource::Trace: return "named in the trace, preset figures";
    case DeviceSource::Preset: return "preset";
    case DeviceSource::Calibrated: return "calibrated";
    case DeviceSource::Assumed: break;
    }
    return "assumed: no device is known";
}

// 1e12 -> "1 TFLOP/s", 0.1 -> "0.1": powers of ten need no three digits.
std::string decadeText(double v, bool flops) {
    if (!flops)
        return v >= 1 ? formatCount(static_cast<std::int64_t>(std::llround(std::min(v, 1e15))))
                      : fmt::format("{:g}", v);
    constexpr std::array<std::string_view, 7> units = {"FLOP/s",  "KFLOP/s", "MFLOP/s", "GFLOP/s",
                                                       "TFLOP/s", "PFLOP/s", "EFLOP/s"};
    const auto thousands = static_cast<std::size_t>(std::clamp(std::floor(std::log10(v) / 3 + 1e-9), 0.0, 6.0));
    return fmt::format("{:g} {}", std::round(v / std::pow(10.0, 3.0 * static_cast<double>(thousands))),
                       units[thousands]);
}

void drawAxes(const Scale& scale, DrawList& list) {
    const Area& a = scale.area;
    DrawRect plot;
    plot.x = a.left;
    plot.y = a.top;
    plot.width = a.right - a.left;
    plot.height = a.bottom - a.top;
    plot.fill = ColourRole::Surface;
    plot.stroke = ColourRole::Border;
    plot.stroke_width = 1;
    plot.layer = -2;
    list.rects.push_back(plot);
    const auto grid = [&](double x0, double y0, double x1, double y1) {
        compose::line(list, x0, y0, x1, y1, ColourRole::Grid).layer = -1;
    };
    // Every decade gets a line; in a small picture not every one gets a label.
    double last = -1e9;
    const int ai_decades = decades(scale.axes.min_ai, scale.axes.max_ai);
    for (int i = 0; i <= ai_decades; ++i) {
        const double v = scale.axes.min_ai * std::pow(10.0, i);
        const double x = scale.x(v);
        grid(x, a.top, x, a.bottom);
        if (x - last < 36) continue;
        last = x;
        compose::text(list, x, a.bottom + 16, decadeText(v, false), 11, ColourRole::TextMuted, TextAlign::Centre);
    }
    last = 1e9;
    const int rate_decades = decades(scale.axes.min_flops, scale.axes.max_flops);
    for (int i = 0; i <= rate_decades; ++i) {
        const double v = scale.axes.min_flops * std::pow(10.0, i);
        const double y = scale.y(v);
        grid(a.left, y, a.right, y);
        if (last - y < 18) continue;
        last = y;
        compose::text(list, a.left - 8, y + 4, decadeText(v, true), 11, ColourRole::TextMuted, TextAlign::Right);
    }
    compose::text(list, (a.left + a.right) / 2, a.bottom + 34, "arithmetic intensity, FLOP/byte", 11,
                  ColourRole::TextMuted, TextAlign::Centre);
}

// A memory roof from the left or lower edge up to where it meets the peak.
void memoryRoof(const Scale& scale, double bandwidth, double peak, double width, bool dashed, ColourRole role,
                DrawList& list) {
    if (!(bandwidth > 0) || !(peak > 0)) return;
    const double from = std::max(scale.axes.min_ai, scale.axes.min_flops / bandwidth),
                 to = std::min(peak / bandwidth, scale.axes.max_ai);
    if (to <= from) return;
    DrawLine& line = compose::line(list, scale.x(from), scale.y(bandwidth * from), scale.x(to), scale.y(bandwidth * to),
                                   role, width);
    line.dashed = dashed;
}

void drawRoofs(const DeviceSpec& device, const Scale& scale, std::vector<Area>& obstacles, DrawList& list) {
    const Area& a = scale.area;
    const double peak = topPeak(device), bandwidth = device.bandwidth_Bps;
    if (!(peak > 0) || !(bandwidth > 0)) return;
    const double ridge = peak / bandwidth, ridge_x = scale.x(ridge), peak_y = scale.y(peak);
    memoryRoof(scale, bandwidth, peak, 2, false, ColourRole::Text, list);
    memoryRoof(scale, device.practicalBandwidth(), peak, 1, true, ColourRole::TextMuted, list);
    compose::line(list, ridge_x, peak_y, a.right, peak_y, ColourRole::Text, 2);
    DrawLine& drop = compose::line(list, ridge_x, peak_y, ridge_x, a.bottom, ColourRole::TextMuted);
    drop.dashed = true;
    drop.layer = -1;

    const auto label = [&](double x, double y, const std::string& text, ColourRole role, TextAlign align,
                           bool bold = false) {
        const double width = textWidth(text, {11, bold});
        const double left = align == TextAlign::Right ? x - width : align == TextAlign::Centre ? x - width / 2 : x;
        compose::text(list, x, y, text, 11, role, align).bold = bold;
        obstacles.push_back({left, y - 11, left + width, y + 4});
    };
    label(a.right - 8, peak_y - 22, "bf16 tensor cores " + formatFlopRate(peak), ColourRole::Text, TextAlign::Right,
          true);
    DrawMarker dot;
    dot.x = ridge_x;
    dot.y = peak_y;
    dot.radius = 4;
    dot.fill = ColourRole::Text;
    dot.stroke = ColourRole::Surface;
    list.markers.push_back(dot);
    label(ridge_x, a.bottom - 8, fmt::format("ridge {} FLOP/byte", formatSignificant(ridge)), ColourRole::TextMuted,
          ridge_x + 140 > a.right ? TextAlign::Right : TextAlign::Left);
    list.texts.back().x += list.texts.back().align == TextAlign::Right ? -6 : 6;
    if (device.fp32 > 0 && device.fp32 < peak && device.fp32 / bandwidth > scale.axes.min_ai) {
        // Pointwise work cannot use tensor cores: this is its compute roof.
        const double y = scale.y(device.fp32);
        compose::line(list, scale.x(device.fp32 / bandwidth), y, a.right, y, ColourRole::TextMuted).dashed = true;
        label(a.right - 8, y - 6, "fp32 " + formatFlopRate(device.fp32), ColourRole::TextMuted, TextAlign::Right);
    }
    // The memory roof carries its figure in the empty corner above it.
    const double lowest = std::max(scale.axes.min_ai, scale.axes.min_flops / bandwidth);
    const double at = lowest * std::pow(ridge / lowest, 0.55);
    label(scale.x(at) - 10, scale.y(at * bandwidth) - 8, "HBM " + formatBandwidth(bandwidth), ColourRole::Text,
          TextAlign::Right, true);
    obstacles.push_back({ridge_x - 2, peak_y, ridge_x + 2, a.bottom});
    // Labels of marks keep off the sloping line too.
    for (int i = 0; i <= 24; ++i) {
        const double ai = scale.axes.min_ai * std::pow(ridge / scale.axes.min_ai, i / 24.0);
        const double px = scale.x(ai), py = scale.y(ai * bandwidth);
        obstacles.push_back({px - 6, py - 4, px + 6, py + 4});
    }
}

} // namespace

std::vector<std::uint32_t> opsBelowAxes(const Analysis& analysis) {
    // A launch of a few numbers runs at a millionth of the roof. Decades of empty axis for it would press together what
    // the time goes into.
    constexpr double least_share = 0.001, usual = 2e11;
    double all = 0, lowest = usual;
    for (const OpSummary& op : analysis.ops) all += op.time_ns;
    const std::vector<std::uint32_t> rows = plottableOps(analysis);
    for (const std::uint32_t row : rows)
        if (analysis.ops[row].time_ns >= all * least_share)
            lowest = std::min(lowest, analysis.ops[row].achievedFlops());
    lowest = decadeBelow(std::max(lowest, 1e3) / 2);
    std::vector<std::uint32_t> below;
    for (const std::uint32_t row : rows)
        if (analysis.ops[row].achievedFlops() < lowest && analysis.ops[row].time_ns < all * least_share)
            below.push_back(row);
    return below;
}

RooflineAxes rooflineAxes(const Analysis& analysis) {
    double min_ai = 0.2, max_ai = 1000, min_flops = 2e11, max_flops = 1e14;
    const auto take = [&](double ai, double flops) {
        if (!(ai > 0) || !(flops > 0) || !std::isfinite(ai) || !std::isfinite(flops)) return;
        min_ai = std::min(min_ai, std::max(ai, 1e-6));
        max_ai = std::max(max_ai, std::min(ai, 1e9));
        min_flops = std::min(min_flops, std::max(flops, 1e3));
        max_flops = std::max(max_flops, std::min(flops, 1e18));
    };
    const std::vector<std::uint32_t> hidden = opsBelowAxes(analysis);
    for (const std::uint32_t row : plottableOps(analysis))
        if (!std::binary_search(hidden.begin(), hidden.end(), row))
            take(analysis.ops[row].intensity(), analysis.ops[row].achievedFlops());
    // The ridge keeps some roof to its right.
    const double peak = topPeak(analysis.device);
    if (peak > 0 && analysis.device.bandwidth_Bps > 0) take(peak / analysis.device.bandwidth_Bps * 2, peak);
    // A mark on the border would be cut in half.
    return {decadeBelow(min_ai / 2), decadeAbove(max_ai), decadeBelow(min_flops / 2), decadeAbove(max_flops)};
}

namespace {

// From the region as run to its fused form, as measured.
void drawMoves(const Scale& scale, const SelectionSets& selection, std::span<const RooflineMove> moves,
               DrawList& list) {
    for (const RooflineMove& move : moves) {
        const Emphasis emphasis = isPicked(selection, move) ? Emphasis::Selected
                                  : somePicked(selection)   ? Emphasis::Dimmed
                                                            : Emphasis::Normal;
        const Pick pick = pickOfWork(move);
        const double x = scale.x(move.ai_fused), y = scale.y(move.flops_fused);
        DrawLine line;
        line.points = {{scale.x(move.ai_now), scale.y(move.flops_now)}, {x, y}};
        line.stroke = roleOf(move.speed);
        line.width = 2;
        line.arrow = true;
        line.emphasis = emphasis;
        line.layer = 2;
        line.pick = pick;
        list.lines.push_back(std::move(line));
        DrawMarker marker;
        marker.x = x;
        marker.y = y;
        marker.radius = 5;
        marker.fill = roleOf(move.speed);
        marker.emphasis = emphasis;
        marker.layer = 2;
        marker.pick = pick;
        marker.tooltip = move.label;
        list.markers.push_back(std::move(marker));
    }
}

} // namespace

DrawList drawRoofline(const Analysis& analysis, double width, double height, const SelectionSets& selection,
                      std::span<const RooflineMove> moves) {
    DrawList list;
    list.width = width;
    list.height = height;
    Scale scale;
    scale.axes = rooflineAxes(analysis);
    scale.area = {88, 80, std::max(width - 24, 120.0), std::max(height - 72, 96.0)};
    drawAxes(scale, list);
    std::vector<Area> obstacles;
    drawRoofs(analysis.device, scale, obstacles, list);
    drawMarks(analysis, scale, selection, obstacles, list);
    drawMoves(scale, selection, moves, list);

    const DeviceSpec& device = analysis.device;
    const double room = width - 32;
    DrawText& title = compose::elidedText(
        list, 16, 20,
        fmt::format("{} · {}", device.name.empty() ? "Unknown device" : device.name, sourceText(device.source)), 13,
        ColourRole::Text, room);
    title.bold = true;
    const std::string copy = device.copy_bandwidth_Bps > 0 ? "measured copy" : "practical copy (88% of peak assumed)";
    compose::elidedText(
        list, 16, 37,
        fmt::format("dashed: {} {} · area of a mark: its time", copy, formatBandwidth(device.practicalBandwidth())), 11,
        ColourRole::TextMuted, room);

    // Legend of the kinds that are there, and what could not be drawn.
    std::array<bool, 12> used{};
    const auto rows = plottableOps(analysis);
    for (const std::uint32_t row : rows)
        used[std::min<std::size_t>(static_cast<std::size_t>(analysis.ops[row].kind), 11)] = true;
    compose::Legend legend;
    for (std::size_t kind = 0; kind < used.size(); ++kind)
        if (used[kind])
            legend.entries.emplace_back(roleOf(static_cast<OpKind>(kind)),
                                        std::string(nameOf(static_cast<OpKind>(kind))));
    const double legend_bottom =
        compose::drawLegend(list, legend, scale.area.left, height - 28, scale.area.right - scale.area.left);
    const std::size_t missing = analysis.ops.size() - rows.size();
    if (missing > 0 && !rows.empty()) {
        double time = 0, all = 0;
        for (const OpSummary& op : analysis.ops) all += op.time_ns;
        time = all;
        for (const std::uint32_t row : rows) time -= analysis.ops[row].time_ns;
        const std::string note = fmt::format("not shown: {} of {} rows without FLOPs or bytes, {} of the time", missing,
                                             analysis.ops.size(), shareText(all > 0 ? std::max(0.0, time) / all : 0));
        compose::elidedText(list, scale.area.left + 8, scale.area.top + 18, note, 11, ColourRole::TextMuted,
                            scale.area.right - scale.area.left - 16);
    }
    list.height = std::max(height, legend_bottom + 8);
    if (const std::string empty = rooflineEmptyText(analysis); !empty.empty())
        compose::text(list, (scale.area.left + scale.area.right) / 2, (scale.area.top + scale.area.bottom) / 2, empty,
                      13, ColourRole::TextMuted, TextAlign::Centre);
    return list;
}

} // namespace fusescope
