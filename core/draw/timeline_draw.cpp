// SPDX-License-Identifier: Apache-2.0
// The rows of the timeline. Work per frame is bounded by pixels and rows, not by the trace: the index folds what falls
// below a pixel, and neighbours too small to tell apart are folded once more here.
#include "core/draw/timeline_parts.h"

#include "core/draw/text_fit.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

namespace fusescope {
namespace {

using namespace timeline;

constexpr double kFoldPixels = 2;  // what begins within so many pixels is one box
constexpr double kTextPixels = 30; // narrower boxes carry no text
constexpr double kTextSize = 11;

// What the one row of a collapsed thread shows: operators. An annotation would cover all of them.
bool inSummary(ColourRole role) noexcept {
    return role != ColourRole::PythonFrame && role != ColourRole::Launch && role != ColourRole::Annotation;
}

class RowPainter {
public:
    RowPainter(const Analysis& analysis, const TimelineView& view, const SelectionSets& selection,
               const TimelineAfter* after, DrawList& list)
        : analysis_(analysis), trace_(*analysis.trace), view_(view), after_(after), scale_(view), recorded_(view),
          list_(list), picking_(selection.pick.kind != PickKind::None), picked_(selection.slice),
          selected_(selectedSlices(analysis, inSight(view, after), selection)) {
        if (selected_.empty()) picking_ = false; // nothing of the pick is here: dimming everything would tell nothing
    }

    void paint(const TimelineRow& row, double y) {
        band(row, y);
        const TimeMap* map = after_ == nullptr ? nullptr : after_->timesOf(trace_.tracks[row.track.index()]);
        scale_ = Scale(view_, map);
        recorded_ = recordedView(view_, map);
        if (!row.collapsed) {
            for (std::size_t i = 0; i < row.shown.size(); ++i)
                line(row, row.shown[i], y + row.line_height * static_cast<double>(i), row.line_height - 2, false);
            return;
        }
        // One row for a whole thread: operators over deeper operators.
        const std::size_t first_text = list_.texts.size();
        for (auto depth = row.shown.rbegin(); depth != row.shown.rend(); ++depth) {
            const std::size_t first_rect = list_.rects.size(), texts_below = list_.texts.size();
            line(row, *depth, y, row.line_height - 2, true);
            dropCovered(first_text, texts_below, first_rect);
        }
    }

private:
    // Recorded times of all maps: a selection has launches and kernels.
    static TimelineView inSight(const TimelineView& view, const TimelineAfter* after) {
        if (after == nullptr) return view;
        TimelineView all = recordedView(view, &after->cpu);
        for (const DeviceTimes& gpu : after->gpus) {
            const TimelineView one = recordedView(view, &gpu.map);
            all.t0 = std::min(all.t0, one.t0);
            all.t1 = std::max(all.t1, one.t1);
        }
        return all;
    }

    void band(const TimelineRow& row, double y) {
        DrawRect rect;
        rect.y = y - 2;
        rect.width = view_.width;
        rect.height = row.height + 2;
        rect.fill = ColourRole::Surface;
        rect.layer = -2;
        list_.rects.push_back(rect);
    }

    // Names of the texts in [from, to) over which the boxes from first_rect on have been drawn would shine through.
    void dropCovered(std::size_t from, std::size_t to, std::size_t first_rect) {
        if (from == to || first_rect == list_.rects.size()) return;
        const auto boxes = list_.rects.begin() + static_cast<std::ptrdiff_t>(first_rect); // ascending, side by side
        const auto covered = [&](const DrawText& text) {
            const auto at = std::upper_bound(boxes, list_.rects.end(), text.x + text.max_width,
                                             [](double x, const DrawRect& r) { return x < r.x; });
            return at != boxes && std::prev(at)->x + std::prev(at)->width > text.x;
        };
        const auto begin = list_.texts.begin() + static_cast<std::ptrdiff_t>(from),
                   end = list_.texts.begin() + static_cast<std::ptrdiff_t>(to);
        list_.texts.erase(std::remove_if(begin, end, covered), end);
    }

    void line(const TimelineRow& row, std::uint16_t depth, double y, double height, bool summary) {
        if (y + height < 0 || y > view_.height) return;
        spans_.clear();
        spansInView(analysis_, recorded_, row.track, depth, kFoldPixels, spans_);
        auto next = selected_.cbegin();
        pending_ = {};
        for (const LodSpan& span : spans_) {
            if (!span.slice.valid() || span.slice.index() >= trace_.slices.size()) continue;
            const ColourRole role =
                row.gpu ? roleOfSpan(analysis_, row.track, span) : roleOfSlice(analysis_, span.slice);
            if (summary && !inSummary(role)) continue;
            const Emphasis emphasis = emphasisOf(span, row.track, depth, next);
            std::int64_t begin = scale_.shown(span.begin), end = std::max(begin, scale_.shownEnd(span.end));
            if (after_ != nullptr && row.gpu && span.count > 1)
                std::tie(begin, end) = besideFused(row.track, begin, end);
            const double length = Scale::ns(begin, end);
            double busy = Scale::ns(span.begin, span.end) * fillOf(span);
            if (after_ != nullptr && row.gpu) {
                if (span.count == 1 ? after_->replaces(span.slice) : length <= 0) continue;
                // What a run of kernels loses in length are kernels, not the gaps between them.
                busy = std::clamp(busy + length - Scale::ns(span.begin, span.end), 0.0, length);
            }
            const double x0 = scale_.xShown(begin), x1 = std::max(scale_.xShown(end), x0 + 1);
            if (fold(span, role, emphasis, x0, x1, busy, length)) continue;
            flush(row, y, height);
            pending_ = {x0,       x1,  static_cast<double>(span.busy), busy, length, span.slice, span.count, role,
                        emphasis, true};
        }
        flush(row, y, height);
    }

    // A folded run that holds the first kernel of a fused region is as long as the fused one: without that, what is
    // before it, or else behind it.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> besideFused(TrackId track, std::int64_t begin,
                                                                    std::int64_t end) const {
        const auto next = std::upper_bound(after_->places.begin(), after_->places.end(), begin,
                                           [](std::int64_t t, const FusedPlace& p) { return t < p.begin; });
        const auto here = [track](const FusedPlace& p) { return p.track == track; };
        const auto before = std::find_if(std::reverse_iterator(next), after_->places.rend(), here);
        if (before != after_->places.rend()) begin = std::clamp(before->end, begin, end);
        const auto within =
            std::find_if(next, after_->places.end(), [&](const FusedPlace& p) { return here(p) || p.begin >= end; });
        if (within != after_->places.end()) end = std::clamp(within->begin, begin, end);
        return {begin, end};
    }

    struct Pending {
        double x0 = 0, x1 = 0;
        double longest = 0;          // busy time of the span that gave its colour
        double busy = 0, length = 0; // ns
        SliceId slice;
        std::uint32_t count = 0;
        ColourRole role = ColourRole::KindOther;
        Emphasis emphasis = Emphasis::Normal;
        bool used = false;
    };

    bool fold(const LodSpan& span, ColourRole role, Emphasis emphasis, double x0, double x1, double busy_ns,
              double length_ns) noexcept {
        Pending& p = pending_;
        if (!p.used || emphasis != p.emphasis || x0 - p.x1 > 0.5 || x1 - p.x0 > kFoldPixels) return false;
        p.x1 = std::max(p.x1, x1);
        p.count += span.count;
        p.busy += busy_ns;
        p.length += length_ns;
        const auto busy = static_cast<double>(span.busy);
        if (busy > p.longest) {
            p.longest = busy;
            p.slice = span.slice;
            p.role = role;
        }
        return true;
    }

    // Selected slices are in time order like the spans, so one walk along both is enough.
    Emphasis emphasisOf(const LodSpan& span, TrackId track, std::uint16_t depth,
                        std::vector<SliceId>::const_iterator& next) {
        if (!picking_) return Emphasis::Normal;
        if (span.count == 1) {
            return std::binary_search(selected_.begin(), selected_.end(), span.slice) ? Emphasis::Selected
                                                                                      : Emphasis::Dimmed;
        }
        const SliceTable& s = trace_.slices;
        while (next != selected_.end() && s.ts[next->index()] < span.begin) ++next;
        for (auto i = next; i != selected_.end() && s.ts[i->index()] < span.end; ++i)
            if (s.track[i->index()] == track && s.depth[i->index()] == depth) return Emphasis::Selected;
        return Emphasis::Dimmed;
    }

    void flush(const TimelineRow& row, double y, double height) {
        if (!pending_.used) return;
        const Pending& p = pending_;
        DrawRect rect;
        rect.x = p.x0;
        rect.y = y;
        // A hair between neighbours keeps a row of equal colours readable; slivers need each of their pixels.
        rect.width = p.x1 - p.x0 >= 4 ? p.x1 - p.x0 - 0.5 : p.x1 - p.x0;
        rect.height = height;
        if (row.gpu && p.count > 1 && p.busy < p.length * 0.95) {
            // Short kernels with gaps between them: as high as the GPU is busy, so that a starved stream does not look
            // full.
            rect.height = std::max(2.0, std::round(height * p.busy / p.length));
            rect.y = y + height - rect.height;
        }
        rect.radius = rect.width >= 8 ? 2 : 0;
        rect.fill = p.role;
        rect.hatched = p.count > 1;
        rect.emphasis = p.emphasis;
        if (p.emphasis == Emphasis::Selected && p.slice != picked_ && picking_ && rect.width < 3) rect.stroke_width = 0;
        rect.pick = pickOf(p.slice);
        list_.rects.push_back(rect);
        if (rect.width >= kTextPixels && p.count == 1) label(rect, p.slice);
    }

    Pick pickOf(SliceId slice) const noexcept {
        const KernelId kernel = kernelOf(trace_, slice);
        if (kernel.valid()) return {PickKind::Kernel, kernel.value};
        return {PickKind::Slice, slice.value};
    }

    void label(const DrawRect& rect, SliceId slice) {
        // The text stays in sight while its box is partly scrolled out.
        const double left = std::max(rect.x, 0.0) + 4, right = std::min(rect.x + rect.width, view_.width) - 4;
        if (right - left < kTextPixels - 8 || rect.height < 10) return;
        DrawText text;
        text.text = elided(labelOfSlice(analysis_, slice, right - left), {kTextSize}, right - left);
        if (text.text.empty()) return;
        text.x = left;
        text.y = rect.y + rect.height / 2 + kTextSize * 0.36;
        text.size = kTextSize;
        text.fill = textOn(rect.fill);
        text.max_width = right - left;
        text.emphasis = rect.emphasis == Emphasis::Dimmed ? Emphasis::Dimmed : Emphasis::Normal;
        text.pick = rect.pick;
        list_.texts.push_back(std::move(text));
    }

    const Analysis& analysis_;
    const TraceStore& trace_;
    const TimelineView& view_;
    const TimelineAfter* after_;
    Scale scale_;           // of the row
    TimelineView recorded_; // of the row
    DrawList& list_;
    bool picking_;
    SliceId picked_;
    std::vector<SliceId> selected_;
    std::vector<LodSpan> spans_;
    Pending pending_;
};

void drawStepBounds(const Analysis& analysis, const TimelineView& view, DrawList& list) {
    const Scale scale(view);
    for (const Step& step : analysis.trace->steps) {
        for (const std::int64_t t : {step.begin, step.end}) {
            if (t < view.t0 || t > view.t1) continue;
            DrawLine line;
            line.points = {{scale.x(t), 0}, {scale.x(t), view.height}};
            line.dashed = true;
            line.layer = -1;
            list.lines.push_back(std::move(line));
        }
    }
}

} // namespace

DrawList drawTimeline(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                      const SelectionSets& selection, std::span<const TimelineFused> fused, const TimelineAfter* after,
                      const std::vector<std::uint32_t>* marked) {
    DrawList list;
    list.width = view.width;
    list.height = view.height;
    if (!analysis.trace || !analysis.index || view.t1 <= view.t0 || !(view.width >= 1)) return list;
    list.rects.reserve(static_cast<std::size_t>(std::min(view.width, 16384.0)) * 2);
    drawStepBounds(analysis, view, list);
    drawIdle(analysis, layout, view, after, list);
    RowPainter painter(analysis, view, selection, after, list);
    for (const TimelineRow& row : layout.rows) {
        const double y = row.y - view.scroll_y;
        if (y + row.height < 0 || y > view.height) continue;
        painter.paint(row, y);
    }
    drawFlags(analysis, layout, view, selection, after, marked, list);
    if (after == nullptr)
        drawFused(analysis, layout, view, selection, fused, list);
    else
        drawAfter(analysis, layout, view, selection, *after, list);
    return list;
}

SliceId sliceAt(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view, double x, double y,
                const TimelineAfter* after) {
    if (!analysis.trace || !analysis.index || view.t1 <= view.t0 || !(view.width >= 1)) return {};
    if (!(x >= 0) || x > view.width || !(y >= 0)) return {};
    const double ns_per_pixel = Scale::ns(view.t0, view.t1) / view.width;
    const auto shown =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(view.t0) + static_cast<std::uint64_t>(x * ns_per_pixel));
    const TraceStore& trace = *analysis.trace;
    const auto tolerance =
        static_cast<std::int64_t>(std::min(ns_per_pixel * 2, Scale::ns(trace.begin, std::max(trace.begin, trace.end))));
    if (shown < trace.begin - tolerance || shown > trace.end + tolerance) return {};
    const double content_y = y + view.scroll_y;
    for (const TimelineRow& row : layout.rows) {
        if (content_y < row.y || content_y >= row.y + row.height || row.shown.empty()) continue;
        const TimeMap* map = after == nullptr ? nullptr : after->timesOf(trace.tracks[row.track.index()]);
        const std::int64_t t = map == nullptr ? shown : map->back(shown);
        if (!row.collapsed) {
            // The lane of flags below a stream belongs to its last row of kernels.
            const auto line =
                std::min(static_cast<std::size_t>((content_y - row.y) / row.line_height), row.shown.size() - 1);
            return analysis.index->at(row.track, row.shown[line], t, tolerance);
        }
        for (const std::uint16_t depth : row.shown) { // what lies on top
            const SliceId slice = analysis.index->at(row.track, depth, t, tolerance);
            if (!slice.valid()) continue;
            if (inSummary(roleOfSlice(analysis, slice))) return slice;
        }
    }
    return {};
}

} // namespace fusescope
