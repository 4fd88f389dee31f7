// SPDX-License-Identifier: Apache-2.0
// The timeline of one step as a picture of its own, for the report.
#include "core/draw/compose.h"
#include "core/draw/text_fit.h"
#include "core/draw/timeline_parts.h"

#include <algorithm>
#include <array>
#include <string>

namespace fusescope {
namespace {

using namespace timeline;

constexpr double kLabels = 136, kMargin = 8, kRuler = 24;

std::pair<std::int64_t, std::int64_t> rangeOf(const Analysis& analysis) {
    const TraceStore& trace = *analysis.trace;
    std::int64_t begin = trace.begin, end = trace.end;
    if (analysis.step >= 0 && static_cast<std::size_t>(analysis.step) < analysis.steps.size()) {
        const StepStats& step = analysis.steps[static_cast<std::size_t>(analysis.step)];
        if (step.end > step.begin) {
            begin = step.begin;
            end = step.end;
        }
        // The CPU part of a step begins before its first kernel, and both matter here.
        if (static_cast<std::size_t>(analysis.step) < trace.steps.size()) {
            const Step& cpu = trace.steps[static_cast<std::size_t>(analysis.step)];
            if (cpu.end > cpu.begin) {
                begin = std::min(begin, cpu.begin);
                end = std::max(end, cpu.end);
            }
        }
    }
    return {begin, std::max(end, begin + 1)};
}

} // namespace

DrawList drawTimelinePicture(const Analysis& analysis, double width, std::span<const TimelineFused> fused,
                             const TimelineAfter* after, const std::vector<std::uint32_t>* marked) {
    DrawList picture;
    picture.width = width;
    if (!analysis.trace || !analysis.index) {
        picture.height = 64;
        compose::text(picture, width / 2, 36, "No trace was opened, so there is no timeline.", 13,
                      ColourRole::TextMuted, TextAlign::Centre);
        return picture;
    }
    TimelineOptions options;
    options.depth_limit = 4;
    options.collapsed = pythonHeavyTracks(analysis);
    const TimelineLayout layout = timelineLayout(analysis, options);
    TimelineView view;
    std::tie(view.t0, view.t1) = rangeOf(analysis);
    view.width = std::max(64.0, width - kLabels - kMargin);
    view.height = layout.height;
    const std::int64_t origin = view.t0;

    compose::append(picture, drawRuler(origin, view, kRuler), kLabels, 0);
    const double top = kRuler + 4;
    compose::append(picture, drawTimeline(analysis, layout, view, {}, fused, after, marked), kLabels, top);
    for (const TimelineRow& row : layout.rows) {
        compose::elidedText(picture, kMargin, top + row.y + std::min(row.line_height, 16.0) / 2 + 4, row.label, 11,
                            ColourRole::TextMuted, kLabels - 2 * kMargin);
    }

    // Only what is in the picture needs an explanation.
    std::array<bool, static_cast<std::size_t>(ColourRole::Count_)> used{};
    for (const DrawRect& rect : picture.rects)
        if (rect.layer == 0 && rect.filled) used[static_cast<std::size_t>(rect.fill)] = true;
    const bool marks = std::any_of(picture.rects.begin(), picture.rects.end(),
                                   [](const DrawRect& r) { return r.fill == ColourRole::Flagged && r.layer == 1; });
    const bool idle = std::any_of(picture.rects.begin(), picture.rects.end(),
                                  [](const DrawRect& r) { return r.fill == ColourRole::BoundIdle && r.layer == -1; });
    compose::Legend legend;
    for (int kind = 0; kind <= static_cast<int>(OpKind::Other); ++kind) {
        const ColourRole role = roleOf(static_cast<OpKind>(kind));
        if (used[static_cast<std::size_t>(role)])
            legend.entries.emplace_back(role, std::string(nameOf(static_cast<OpKind>(kind))));
    }
    if (used[static_cast<std::size_t>(ColourRole::CpuOp)])
        legend.entries.emplace_back(ColourRole::CpuOp, "CPU operator");
    if (used[static_cast<std::size_t>(ColourRole::Launch)])
        legend.entries.emplace_back(ColourRole::Launch, "CUDA call");
    if (idle) legend.entries.emplace_back(ColourRole::BoundIdle, "GPU idle");
    if (marks) legend.entries.emplace_back(ColourRole::Flagged, "worth fusing");
    for (const auto& [speed, words] : {std::pair(FusedSpeed::Faster, "fused, as measured"),
                                       std::pair(FusedSpeed::NoGain, "fused, measured without a gain"),
                                       std::pair(FusedSpeed::Slower, "fused, measured slower")})
        if (std::any_of(picture.rects.begin(), picture.rects.end(),
                        [role = roleOf(speed)](const DrawRect& r) { return r.stroke == role && r.layer == 2; }))
            legend.entries.emplace_back(roleOf(speed), words);
    picture.height =
        compose::drawLegend(picture, legend, kLabels, top + layout.height + 8, width - kLabels - kMargin) + kMargin;
    return picture;
}

} // namespace fusescope
