// SPDX-License-Identifier: Apache-2.0
// What the files of the timeline share; not for other parts.
#pragma once

#include "core/draw/timeline_draw.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fusescope::timeline {

constexpr double kFlagLane = 16; // below the last depth row of a GPU stream
constexpr double kRowGap = 8;

// Recorded time to pixels. Differences are taken in integers: doubles of nanoseconds since boot have lost the last
// ones.
struct Scale {
    std::int64_t t0 = 0;
    double pixels_per_ns = 0, width = 0;
    const TimeMap* map = nullptr; // null: shown as recorded
    explicit Scale(const TimelineView& view, const TimeMap* moved = nullptr) noexcept
        : t0(view.t0), pixels_per_ns(view.t1 > view.t0 ? view.width / ns(view.t0, view.t1) : 0), width(view.width),
          map(moved) {}
    [[nodiscard]] static double ns(std::int64_t from, std::int64_t to) noexcept {
        return static_cast<double>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from));
    }
    [[nodiscard]] std::int64_t shown(std::int64_t t) const noexcept { return map == nullptr ? t : map->at(t); }
    [[nodiscard]] std::int64_t shownEnd(std::int64_t t) const noexcept { return map == nullptr ? t : map->endAt(t); }
    // Of what begins then, of what ends then.
    [[nodiscard]] double x(std::int64_t t) const noexcept { return xShown(shown(t)); }
    [[nodiscard]] double xEnd(std::int64_t t) const noexcept { return xShown(shownEnd(t)); }
    // Clipped a little outside of the view, so that painters never see huge coordinates.
    [[nodiscard]] double xShown(std::int64_t t) const noexcept {
        const double distance = t >= t0 ? ns(t0, t) : -ns(t, t0);
        return std::clamp(distance * pixels_per_ns, -8.0, width + 8.0);
    }
};

// The recorded times behind a view, as wide as keeps its scale where nothing moved.
[[nodiscard]] TimelineView recordedView(const TimelineView& view, const TimeMap* map) noexcept;

using Interval = std::pair<std::int64_t, std::int64_t>;

// Spans of a row in a view of recorded times. Asks the index only about the trace's own range: a view may reach far
// beyond it. fold_pixels: what begins within so many pixels is one span.
void spansInView(const Analysis& analysis, const TimelineView& view, TrackId track, std::uint16_t depth,
                 double fold_pixels, std::vector<LodSpan>& out);
// Fill of a slice: GPU work by its kind, the rest by its category.
[[nodiscard]] ColourRole roleOfSlice(const Analysis& analysis, SliceId slice) noexcept;
// Of a folded span: the role that takes most of its time, by a sample of its slices. Steadier and truer than the
// longest one's.
[[nodiscard]] ColourRole roleOfSpan(const Analysis& analysis, TrackId track, const LodSpan& span) noexcept;
// Of a region: the role that takes most of its kernels' time. The first kernel is often a copy or another region's.
[[nodiscard]] ColourRole roleOfKernels(const Analysis& analysis, std::span<const KernelId> kernels) noexcept;
// Share of a span's length in which something ran, 0..1.
[[nodiscard]] inline double fillOf(const LodSpan& span) noexcept {
    const double length = Scale::ns(span.begin, span.end);
    return span.count <= 1 || !(length > 0) ? 1 : std::clamp(static_cast<double>(span.busy) / length, 0.0, 1.0);
}
// The kernel row behind a slice, invalid if it is none.
[[nodiscard]] KernelId kernelOf(const TraceStore& trace, SliceId slice) noexcept;
[[nodiscard]] std::string labelOfSlice(const Analysis& analysis, SliceId slice, double width);
// "thread 415 (python3)", "stream 7", with the device where there are several.
[[nodiscard]] std::string labelOfTrack(const TraceStore& trace, const Track& track, bool several_devices);
[[nodiscard]] bool hasSeveralDevices(const TraceStore& trace) noexcept; // that did some work
[[nodiscard]] bool showsWork(const Track& track) noexcept;              // drawn at all

// Marks of worthwhile findings below the kernels they would replace. marked: as of drawTimeline().
void drawFlags(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, const TimelineAfter* after, const std::vector<std::uint32_t>* marked,
               DrawList& list);
void drawFused(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, std::span<const TimelineFused> fused, DrawList& list);
// Fused kernels at their places, outlines of where the old ones were, the end of the step.
void drawAfter(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, const TimelineAfter& after, DrawList& list);
// Of the direction that the place stands for; empty where there is no such instance.
[[nodiscard]] std::span<const KernelId> kernelsOf(const Analysis& analysis, const FusedPlace& place) noexcept;
// A fused kernel and its label.
void drawFusedBox(DrawRect place, ColourRole fill, double fused_ns, Emphasis emphasis, DrawList& list);
// Gaps of the GPU inside of the steps.
void drawIdle(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
              const TimelineAfter* after, DrawList& list);
// Slices of the selection (kernels, their launches and operators, the picked slice) that may meet the view, ascending.
[[nodiscard]] std::vector<SliceId> selectedSlices(const Analysis& analysis, const TimelineView& view,
                                                  const SelectionSets& selection);

} // namespace fusescope::timeline
