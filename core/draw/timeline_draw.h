// SPDX-License-Identifier: Apache-2.0
// The kernel timeline: CPU threads above, GPU streams below, flagged spans marked.
#pragma once

#include "core/draw/draw_list.h"
#include "core/draw/fused_of.h"
#include "core/draw/time_map.h"

#include <cstdint>
#include <span>
#include <string>
#include <utility>
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
// An instance whose fused form was measured: what that takes alone; negative: not measured.
struct TimelineFused : FusedOf {
    double forward_ns = -1, backward_ns = -1;
    double in_step_ns = -1; // what the instance takes in the step less what it saves there; negative: not known
};
// A fused kernel in the step's new course: one direction of an instance.
struct FusedPlace : FusedOf {
    bool backward = false;
    TrackId track;
    double fused_ns = 0;                               // as measured; it may take longer in the step
    std::int64_t begin = 0, end = 0;                   // shown
    std::int64_t recorded_begin = 0, recorded_end = 0; // of what it replaces
};
// Recorded times of a GPU's work to shown ones.
struct DeviceTimes {
    std::int32_t device = -1; // as in Track
    TimeMap map;
};
// The analysed step as it goes once measured fusions are in it (core/measured/after.h). Steps beside it stay as
// recorded; so a gap opens behind the step, as long as what it saves.
struct TimelineAfter {
    std::vector<DeviceTimes> gpus;                     // of those that work in the step; others stay as recorded
    TimeMap cpu;                                       // recorded times to shown ones, of CPU threads
    std::vector<SliceId> removed;                      // kernels that are replaced, ascending
    std::vector<FusedPlace> places;                    // by begin
    std::int64_t begin = 0, end = 0, recorded_end = 0; // of the step: end shown, and as recorded
    double measured_ns = 0;                            // the sum of what its instances save
    bool whole_trace = false;                          // it has no steps
    bool plan_measured = false;                        // all of the plan: nothing in it is only predicted
    bool with_selected = false;                        // what is selected, and not of the plan, is fused too
    [[nodiscard]] double savedNs() const noexcept { return static_cast<double>(recorded_end - end); }
    // Null: what is on the track stays as recorded.
    [[nodiscard]] const TimeMap* timesOf(const Track& track) const noexcept;
    [[nodiscard]] bool replaces(SliceId slice) const noexcept;
    // What stands in the place of a removed kernel; null for any other slice.
    [[nodiscard]] const FusedPlace* placeOf(const Analysis& analysis, SliceId slice) const noexcept;
};
// Where a slice is shown: as recorded without `after`; a removed kernel where the fused one runs.
[[nodiscard]] std::pair<std::int64_t, std::int64_t> shownSpan(const Analysis& analysis, const TimelineAfter* after,
                                                              SliceId slice) noexcept;
// Times in sight (view) and elsewhere outside of TimelineAfter are shown times wherever `after` is not null.
//
// Slices of the visible rows and range (level of detail bounds the items to width x rows); selected ones emphasised;
// spans of findings outlined (ColourRole::Flagged). Without `after`, measured ones are drawn as fused over a ghost of
// what they replace and later work stays where it was; with it, later work has moved up and ghosts are outlines.
// marked: as of drawGraph(). Does not draw row labels or the ruler.
[[nodiscard]] DrawList drawTimeline(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                                    const SelectionSets& selection, std::span<const TimelineFused> fused = {},
                                    const TimelineAfter* after = nullptr,
                                    const std::vector<std::uint32_t>* marked = nullptr);
[[nodiscard]] DrawList drawRuler(std::int64_t origin, const TimelineView& view,
                                 double height); // nice ticks, labels from origin
// A time as the ruler writes it, to the pixel: "120.034 ms" where a pixel is some microseconds.
[[nodiscard]] std::string rulerTime(std::int64_t origin, std::int64_t t, const TimelineView& view);
// Whole trace, GPU busy + steps.
[[nodiscard]] DrawList drawMinimap(const Analysis& analysis, double width, double height,
                                   const TimelineAfter* after = nullptr);
// The slice under a point of the drawing area, invalid if none.
[[nodiscard]] SliceId sliceAt(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                              double x, double y, const TimelineAfter* after = nullptr);
// For the report: labels, ruler and rows of one step in one picture.
[[nodiscard]] DrawList drawTimelinePicture(const Analysis& analysis, double width,
                                           std::span<const TimelineFused> fused = {},
                                           const TimelineAfter* after = nullptr,
                                           const std::vector<std::uint32_t>* marked = nullptr);
// "step 89.5 ms → 71.2 ms, measured so far", ", the whole plan measured" or ", the plan and what is selected measured",
// and what of the measured savings the step does not get, "" if it gets all of them.
[[nodiscard]] std::string afterText(const TimelineAfter& after);
[[nodiscard]] std::string afterHeldText(const TimelineAfter& after);

} // namespace fusescope
