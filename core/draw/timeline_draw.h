// SPDX-License-Identifier: Apache-2.0
// The kernel timeline: CPU threads above, GPU streams below, flagged spans marked.
#pragma once

#include "core/draw/draw_list.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fusescope {

struct TimelineRow {
    TrackId track;
    std::string label; // "thread 415 (main)", "stream 7"
    bool gpu = false;
    double y = 0, height = 0; // content pixels, unscrolled
    std::uint16_t depths = 1; // depth rows shown
    bool collapsed = false;
    double line_height = 18;          // of one depth row
    std::vector<std::uint16_t> shown; // the track's depths that are drawn, outermost first; collapsed: all in one row
};
struct TimelineLayout {
    std::vector<TimelineRow> rows;
    double height = 0;
};
struct TimelineOptions {
    double row_height = 18, depth_limit = 12;
    std::vector<TrackId> collapsed; // python_function-heavy tracks are collapsed to one row by the caller
};
// Tracks deeper than the limit show the depths that tell most: operators, launches, annotations and modules before
// plain Python frames. GPU streams end in a lane for the marks of findings. Profiler spans and empty tracks are left
// out.
[[nodiscard]] TimelineLayout timelineLayout(const Analysis& analysis, const TimelineOptions& options);
// CPU tracks of which most slices are Python frames: collapse these at first.
[[nodiscard]] std::vector<TrackId> pythonHeavyTracks(const Analysis& analysis);

struct TimelineView {
    std::int64_t t0 = 0, t1 = 1;       // visible range, ns
    double width = 1000, height = 300; // of the drawing area right of the labels
    double scroll_y = 0;
};
// An instance of a finding whose fused form was measured: what that takes; negative: not measured.
struct TimelineFused {
    std::uint32_t finding = 0, instance = 0;
    double forward_ns = -1, backward_ns = -1;
};
// Slices of the visible rows and range (level of detail bounds the items to width x rows); selected ones emphasised;
// spans of findings outlined (ColourRole::Flagged). Measured ones are drawn as fused
// over a ghost of what they replace; what comes later stays where it was. Does not draw row labels or the ruler.
[[nodiscard]] DrawList drawTimeline(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                                    const SelectionSets& selection, std::span<const TimelineFused> fused = {});
[[nodiscard]] DrawList drawRuler(std::int64_t origin, const TimelineView& view,
                                 double height); // nice ticks, labels from origin
// A time as the ruler writes it, to the pixel: "120.034 ms" where a pixel is some microseconds.
[[nodiscard]] std::string rulerTime(std::int64_t origin, std::int64_t t, const TimelineView& view);
[[nodiscard]] DrawList drawMinimap(const Analysis& analysis, double width,
                                   double height); // whole trace, GPU busy + steps
// The slice under a point of the drawing area, invalid if none.
[[nodiscard]] SliceId sliceAt(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                              double x, double y);
// For the report: labels, ruler and rows of one step in one picture.
[[nodiscard]] DrawList drawTimelinePicture(const Analysis& analysis, double width,
                                           std::span<const TimelineFused> fused = {});

} // namespace fusescope
