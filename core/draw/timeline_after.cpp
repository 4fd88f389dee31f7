// SPDX-License-Identifier: Apache-2.0
// The step with measured fusions in it: fused kernels where they run now, outlines in the lane below where the old
// ones ran, and what is gained behind the step.
#include "core/draw/text_fit.h"
#include "core/draw/timeline_parts.h"

#include "core/base/format.h"

#include <algorithm>
#include <cmath>

namespace fusescope {

const TimeMap* TimelineAfter::timesOf(const Track& track) const noexcept {
    if (track.kind != TrackKind::GpuStream && track.kind != TrackKind::GpuAnnotation) return &cpu;
    const auto at =
        std::find_if(gpus.begin(), gpus.end(), [&](const DeviceTimes& one) { return one.device == track.device; });
    return at == gpus.end() ? nullptr : &at->map;
}

bool TimelineAfter::replaces(SliceId slice) const noexcept {
    return std::binary_search(removed.begin(), removed.end(), slice);
}

const FusedPlace* TimelineAfter::placeOf(const Analysis& analysis, SliceId slice) const noexcept {
    if (!replaces(slice)) return nullptr;
    const auto has = [&](std::span<const KernelId> kernels) {
        return std::any_of(kernels.begin(), kernels.end(),
                           [&](KernelId k) { return analysis.trace->kernels.slice[k.index()] == slice; });
    };
    const auto at = std::find_if(places.begin(), places.end(),
                                 [&](const FusedPlace& place) { return has(timeline::kernelsOf(analysis, place)); });
    return at == places.end() ? nullptr : &*at;
}

std::pair<std::int64_t, std::int64_t> shownSpan(const Analysis& analysis, const TimelineAfter* after,
                                                SliceId slice) noexcept {
    const TraceStore& trace = *analysis.trace;
    const std::int64_t begin = trace.slices.ts[slice.index()], end = trace.endOf(slice);
    if (after == nullptr) return {begin, end};
    if (const FusedPlace* place = after->placeOf(analysis, slice)) return {place->begin, place->end};
    const TimeMap* map = after->timesOf(trace.tracks[trace.slices.track[slice.index()].index()]);
    if (map == nullptr) return {begin, end};
    return {map->at(begin), std::max(map->at(begin), map->endAt(end))};
}

std::string afterText(const TimelineAfter& after) {
    const auto length = [&](std::int64_t end) { return formatDuration(timeline::Scale::ns(after.begin, end)); };
    return (after.whole_trace ? "trace " : "step ") + length(after.recorded_end) + " → " + length(after.end) +
           (!after.plan_measured  ? ", measured so far"
            : after.with_selected ? ", the plan and what is selected measured"
                                  : ", the whole plan measured");
}

std::string afterHeldText(const TimelineAfter& after) {
    const double held = after.measured_ns - after.savedNs();
    // Rounding of thousands of places is no loss.
    if (!(held > 0.01 * after.measured_ns)) return {};
    return formatDuration(after.savedNs()) + " of the measured " + formatDuration(after.measured_ns) +
           ": later work waits for its launch, as recorded under the profiler, or for other streams";
}

namespace timeline {
namespace {

constexpr double kLeastPixels = 3, kLeastGhost = 8; // narrower: no outline, unless it is selected
constexpr double kGhost = 6;                        // height, in the lane of flags

class AfterPainter {
public:
    AfterPainter(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                 const TimelineAfter& after, DrawList& list)
        : analysis_(analysis), layout_(layout), view_(view), after_(after), scale_(view), list_(list) {}

    void paint(const FusedPlace& place, ColourRole fill, bool picked, Emphasis emphasis) {
        const TimelineRow* row = rowOf(place.track);
        if (row == nullptr) return;
        const double y = row->y - view_.scroll_y, lines = row->line_height * row->depths;
        if (y + row->height < 0 || y > view_.height) return;
        const Pick pick = pickOf(place);
        const double x0 = scale_.xShown(place.begin), x1 = scale_.xShown(place.end);
        const double old0 = scale_.xShown(place.recorded_begin), old1 = scale_.xShown(place.recorded_end);
        if (place.begin <= view_.t1 && place.end >= view_.t0) {
            DrawRect rect;
            rect.x = x0;
            rect.width = std::max(1.0, x1 - x0);
            rect.y = y;
            rect.height = lines - 2;
            rect.pick = pick;
            rect.stroke = roleOf(place.speed);
            // What it takes here, which the step may hold longer than the runner did.
            drawFusedBox(rect, fill, Scale::ns(place.begin, place.end), emphasis, list_);
        }
        if (place.recorded_begin > view_.t1 || place.recorded_end < view_.t0 ||
            old1 - old0 < (picked ? kLeastPixels : kLeastGhost))
            return;
        DrawRect ghost;
        ghost.x = old0;
        ghost.width = old1 - old0;
        ghost.y = y + lines + 1;
        ghost.height = kGhost;
        ghost.filled = false;
        ghost.dashed = true;
        ghost.stroke = ColourRole::Good;
        ghost.stroke_width = 1;
        ghost.emphasis = picked ? emphasis : Emphasis::Dimmed;
        ghost.layer = 1;
        ghost.pick = pick;
        list_.rects.push_back(ghost);
        if (!picked || old0 - x0 < 24) return;
        DrawLine way; // from where it was to where it is
        way.points = {{old0, ghost.y + kGhost / 2}, {x0 + 1, ghost.y + kGhost / 2}};
        way.stroke = ColourRole::Good;
        way.arrow = true;
        way.layer = 2;
        way.pick = pick;
        list_.lines.push_back(std::move(way));
    }

    void end() {
        const double x0 = scale_.xShown(after_.end), x1 = scale_.xShown(after_.recorded_end);
        if (after_.end > view_.t1 || after_.recorded_end < view_.t0) return;
        double top = -1, bottom = -1;
        const TimelineRow* first = nullptr;
        for (const TimelineRow& row : layout_.rows) {
            if (!row.gpu || analysis_.trace->tracks[row.track.index()].kind != TrackKind::GpuStream) continue;
            const double y = row.y - view_.scroll_y;
            if (first == nullptr) {
                first = &row;
                top = y;
            }
            bottom = y + row.height;
        }
        if (first == nullptr || bottom < 0 || top > view_.height) return;
        const double lines = first->line_height * first->depths;
        DrawRect gained; // nothing runs here any more
        gained.x = x0;
        gained.width = x1 - x0;
        gained.y = top;
        gained.height = lines - 2;
        gained.fill = ColourRole::Good;
        gained.hatched = true;
        gained.emphasis = Emphasis::Dimmed;
        gained.layer = -1;
        if (gained.width >= 1) list_.rects.push_back(gained);
        for (const auto& [x, dashed] : {std::pair(x0, false), std::pair(x1, true)}) {
            DrawLine line;
            line.points = {{x, top - 2}, {x, bottom}};
            line.stroke = ColourRole::Good;
            line.width = dashed ? 1 : 2;
            line.dashed = dashed;
            line.layer = 3;
            list_.lines.push_back(std::move(line));
        }
        std::string saved = formatDuration(after_.savedNs()) + " saved";
        if (!afterHeldText(after_).empty()) saved += " of " + formatDuration(after_.measured_ns) + " measured";
        if (textWidth(saved, {11}) + 8 <= gained.width) {
            DrawText text;
            text.text = saved;
            text.size = 11;
            text.x = (x0 + x1) / 2;
            text.y = top + lines / 2 + 3;
            text.align = TextAlign::Centre;
            text.layer = 3;
            list_.texts.push_back(std::move(text));
        }
        plate(x0, top + lines + 1);
    }

private:
    // What became of the step, in the lane at its end: behind it where there is room.
    void plate(double x0, double y) {
        DrawText text;
        text.text = afterText(after_);
        text.size = 11;
        text.bold = true;
        const double wide = textWidth(text.text, {text.size, true}) + 10;
        DrawRect rect;
        rect.x = x0 + 4 + wide <= view_.width ? x0 + 4 : std::min(x0, view_.width) - 4 - wide;
        rect.y = y;
        rect.width = wide;
        rect.height = 14;
        rect.radius = 3;
        rect.fill = ColourRole::Background;
        rect.stroke = ColourRole::Good;
        rect.stroke_width = 1;
        rect.layer = 3;
        list_.rects.push_back(rect);
        text.x = rect.x + 5;
        text.y = rect.y + 11;
        text.layer = 4;
        list_.texts.push_back(std::move(text));
    }
    [[nodiscard]] const TimelineRow* rowOf(TrackId track) const {
        const auto at = std::find_if(layout_.rows.begin(), layout_.rows.end(),
                                     [&](const TimelineRow& row) { return row.gpu && row.track == track; });
        return at == layout_.rows.end() ? nullptr : &*at;
    }

    const Analysis& analysis_;
    const TimelineLayout& layout_;
    const TimelineView& view_;
    const TimelineAfter& after_;
    Scale scale_;
    DrawList& list_;
};

} // namespace

std::span<const KernelId> kernelsOf(const Analysis& analysis, const FusedPlace& place) noexcept {
    const Instance* instance = instanceOf(analysis, place);
    if (instance == nullptr) return {};
    return place.backward ? instance->backward : instance->forward;
}

void drawAfter(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, const TimelineAfter& after, DrawList& list) {
    AfterPainter painter(analysis, layout, view, after, list);
    const bool one = selection.pick.kind == PickKind::Instance;
    for (const FusedPlace& place : after.places) {
        if (std::max(place.end, place.recorded_end) < view.t0 || place.begin > view.t1) continue;
        const std::span<const KernelId> kernels = kernelsOf(analysis, place);
        if (kernels.empty()) continue;
        const bool picked = isPicked(selection, place) && (!one || selection.pick == pickOf(place));
        const bool dimmed = !picked && selection.pick.kind != PickKind::None &&
                            !(selection.findings.empty() && selection.kernels.empty() && !selection.slice.valid());
        painter.paint(place, roleOfKernels(analysis, kernels), picked, dimmed ? Emphasis::Dimmed : Emphasis::Normal);
    }
    painter.end();
}

} // namespace timeline
} // namespace fusescope
