// SPDX-License-Identifier: Apache-2.0
// What is drawn over the rows: findings and idle time.
#include "core/draw/flagged.h"
#include "core/draw/text_fit.h"
#include "core/draw/timeline_parts.h"

#include "core/base/format.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace fusescope::timeline {
namespace {

constexpr double kIdlePixels = 6; // shorter gaps are not marked

struct Mark {
    double x0 = 0, x1 = 0;
    std::uint32_t row = 0, finding = 0;
    std::uint16_t top = 0, bottom = 0; // depth rows of its kernels
    std::uint32_t instances = 1;       // merged ones
    std::size_t instance = 0;
    Emphasis emphasis = Emphasis::Normal;
};

class MarkCollector {
public:
    MarkCollector(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
                  const TimelineAfter* after)
        : trace_(*analysis.trace), after_(after), view_(view) {
        row_of_track_.assign(trace_.tracks.size(), kNoRow);
        for (std::uint32_t i = 0; i < layout.rows.size(); ++i)
            if (layout.rows[i].gpu && layout.rows[i].track.index() < row_of_track_.size())
                row_of_track_[layout.rows[i].track.index()] = i;
    }

    // Runs of kernels that follow each other on the stream become one mark.
    void add(std::uint32_t finding, std::size_t instance, const std::vector<KernelId>& kernels, Emphasis emphasis) {
        if (kernels.empty() || !meetsView(kernels)) return;
        // What is fused is no longer worth fusing.
        if (after_ != nullptr && after_->replaces(trace_.kernels.slice[kernels.front().index()])) return;
        KernelId previous;
        Mark mark;
        bool open = false;
        for (const KernelId kernel : kernels) {
            if (kernel.index() >= trace_.kernels.size()) continue;
            const SliceId slice = trace_.kernels.slice[kernel.index()];
            const std::uint32_t row = row_of_track_[trace_.slices.track[slice.index()].index()];
            if (row == kNoRow) continue;
            const Scale scale(view_, timesOf(slice));
            const double x0 = scale.x(trace_.slices.ts[slice.index()]), x1 = scale.xEnd(trace_.endOf(slice));
            const bool joins = open && mark.row == row && (kernel.value == previous.value + 1 || x0 - mark.x1 < 1);
            if (!joins) {
                if (open) keep(mark);
                mark = {x0, x1, row, finding, 0xFFFFU, 0, 1, instance, emphasis};
                open = true;
            }
            const std::uint16_t depth = trace_.slices.depth[slice.index()];
            mark.top = std::min(mark.top, depth);
            mark.bottom = std::max(mark.bottom, depth);
            mark.x1 = std::max(mark.x1, x1);
            previous = kernel;
        }
        if (open) keep(mark);
    }

    // Marks of one row that stand closer than they can be told apart become one.
    std::vector<Mark> take() {
        std::stable_sort(marks_.begin(), marks_.end(),
                         [](const Mark& a, const Mark& b) { return a.row != b.row ? a.row < b.row : a.x0 < b.x0; });
        std::vector<Mark> merged;
        for (const Mark& mark : marks_) {
            Mark* last = merged.empty() ? nullptr : &merged.back();
            const bool sliver = mark.x1 - mark.x0 < 4;
            if (last && last->row == mark.row && last->emphasis == mark.emphasis && sliver &&
                mark.x0 - last->x1 < 1.5 && (last->x1 - last->x0 < 4 || last->instances > 1)) {
                last->x1 = std::max(last->x1, mark.x1);
                if (last->instance != mark.instance || last->finding != mark.finding) ++last->instances;
                continue;
            }
            merged.push_back(mark);
        }
        return merged;
    }

private:
    static constexpr std::uint32_t kNoRow = 0xFFFFFFFFU;

    bool meetsView(const std::vector<KernelId>& kernels) const noexcept {
        const auto in = [&](KernelId k) { return k.index() < trace_.kernels.size(); };
        if (!in(kernels.front()) || !in(kernels.back())) return false;
        const SliceId first = trace_.kernels.slice[kernels.front().index()],
                      last = trace_.kernels.slice[kernels.back().index()];
        return trace_.slices.ts[first.index()] <= recordedView(view_, timesOf(first)).t1 &&
               trace_.endOf(last) >= recordedView(view_, timesOf(last)).t0;
    }
    [[nodiscard]] const TimeMap* timesOf(SliceId slice) const noexcept {
        return after_ == nullptr ? nullptr : after_->timesOf(trace_.tracks[trace_.slices.track[slice.index()].index()]);
    }
    void keep(Mark mark) {
        if (mark.x1 <= 0 || mark.x0 >= view_.width) return;
        mark.x1 = std::max(mark.x1, mark.x0 + 1);
        marks_.push_back(mark);
    }

    const TraceStore& trace_;
    const TimelineAfter* after_;
    const TimelineView& view_;
    std::vector<std::uint32_t> row_of_track_;
    std::vector<Mark> marks_;
};

} // namespace

void drawFlags(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, const TimelineAfter* after, const std::vector<std::uint32_t>* marked,
               DrawList& list) {
    const std::vector<std::uint32_t> findings = markedFindings(analysis, selection, marked);
    if (findings.empty() || !analysis.trace) return;
    const bool one_instance = selection.pick.kind == PickKind::Instance;
    const std::uint32_t wanted = one_instance ? selection.pick.id & 0xFFFFU : 0;
    const bool picking = !selection.findings.empty() && (one_instance || selection.pick.kind == PickKind::Finding);
    MarkCollector collector(analysis, layout, view, after);
    for (const std::uint32_t f : findings) {
        const Finding& finding = analysis.findings[f];
        const bool chosen = std::binary_search(selection.findings.begin(), selection.findings.end(), f);
        for (std::size_t i = 0; i < finding.instances.size(); ++i) {
            Emphasis emphasis = Emphasis::Normal;
            if (picking) emphasis = chosen && (!one_instance || i == wanted) ? Emphasis::Normal : Emphasis::Dimmed;
            collector.add(f, i, finding.instances[i].forward, emphasis);
            collector.add(f, i, finding.instances[i].backward, emphasis);
        }
    }
    double label_end = -1e9;
    std::uint32_t label_row = 0;
    for (const Mark& mark : collector.take()) {
        if (mark.row != label_row) label_end = -1e9;
        label_row = mark.row;
        const TimelineRow& row = layout.rows[mark.row];
        const double top = row.y - view.scroll_y, lines = row.line_height * row.depths;
        if (top + row.height < 0 || top > view.height) continue;
        DrawRect bar;
        bar.x = mark.x0;
        bar.width = mark.x1 - mark.x0;
        bar.y = top + lines;
        bar.height = 3;
        bar.fill = ColourRole::Flagged;
        bar.emphasis = mark.emphasis;
        bar.layer = 1;
        bar.pick =
            mark.instances > 1 ? Pick{PickKind::Finding, mark.finding} : pickOfInstance(mark.finding, mark.instance);
        list.rects.push_back(bar);
        if (mark.instances > 1 || bar.width < 6) continue;
        DrawRect outline = bar;
        const auto line = [&](std::uint16_t depth) {
            return row.line_height * std::min(depth, static_cast<std::uint16_t>(row.depths - 1));
        };
        outline.y = top - 1 + line(mark.top);
        outline.height = line(mark.bottom) - line(mark.top) + row.line_height;
        outline.filled = false;
        outline.stroke = ColourRole::Flagged;
        outline.stroke_width = 1.5;
        outline.radius = 3;
        list.rects.push_back(outline);
        const double left = std::max(mark.x0, 0.0), room = std::min(mark.x1, view.width) - left;
        if (room < 44 || left < label_end) continue;
        DrawText text;
        text.size = 10;
        text.text = elided(catalogEntry(analysis.findings[mark.finding].pattern).title, {text.size}, room);
        text.x = left;
        text.y = bar.y + 12;
        text.max_width = room;
        text.fill = ColourRole::TextMuted;
        text.emphasis = mark.emphasis;
        text.pick = bar.pick;
        if (text.text.empty()) continue;
        label_end = left + textWidth(text.text, {text.size}) + 6;
        list.texts.push_back(std::move(text));
    }
}

void drawIdle(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
              const TimelineAfter* after, DrawList& list) {
    const TraceStore& trace = *analysis.trace;
    const Scale scale(view); // shown times to pixels
    // A device idles when all of its streams do. Merged ranks may each call theirs number 0.
    using Gpu = std::pair<std::int64_t, std::int32_t>; // process, device
    const auto gpuOf = [&](const Track& track) {
        return Gpu{trace.several_processes ? track.process : kNoProcess, track.device};
    };
    std::map<Gpu, std::vector<Interval>> busy;
    std::map<Gpu, const TimelineRow*> first_row;
    const auto movedOn = [&](const Track& track) { // recorded ones
        return Scale(view, after == nullptr ? nullptr : after->timesOf(track));
    };
    std::vector<LodSpan> spans;
    for (const TimelineRow& row : layout.rows) {
        const Track& track = trace.tracks[row.track.index()];
        if (track.kind != TrackKind::GpuStream) continue;
        first_row.emplace(gpuOf(track), &row);
        const Scale moved = movedOn(track);
        const TimelineView recorded = recordedView(view, moved.map);
        spans.clear();
        for (std::uint16_t depth = 0; depth < std::min<std::uint16_t>(track.depths, 2); ++depth)
            spansInView(analysis, recorded, row.track, depth, kIdlePixels / 2, spans);
        auto& intervals = busy[gpuOf(track)];
        for (const LodSpan& span : spans) intervals.emplace_back(moved.shown(span.begin), moved.shownEnd(span.end));
    }
    for (auto& [gpu, intervals] : busy) {
        const TimelineRow& row = *first_row.at(gpu);
        const Scale moved = movedOn(trace.tracks[row.track.index()]);
        const double y = row.y - view.scroll_y, height = row.line_height * row.depths - 2;
        if (y + height < 0 || y > view.height) continue;
        std::sort(intervals.begin(), intervals.end());
        const auto isOwn = [process = gpu.first](const Step& step) { return step.pid == process; };
        const bool has_steps = std::any_of(trace.steps.begin(), trace.steps.end(), isOwn);
        std::int64_t drawn = view.t0; // steps of several processes overlap
        for (std::size_t i = 0; i < analysis.steps.size(); ++i) {
            const StepStats& step = analysis.steps[i];
            if (has_steps && i < trace.steps.size() && !isOwn(trace.steps[i])) continue;
            // At the edges of a view nothing is known of what lies outside, so only gaps inside count as idle.
            const std::int64_t begin = std::max(moved.shown(step.begin), drawn),
                               end = std::min(moved.shownEnd(step.end), view.t1);
            drawn = std::max(drawn, end);
            auto at = std::lower_bound(intervals.begin(), intervals.end(), Interval{begin, begin});
            std::int64_t cursor = begin;
            if (at != intervals.begin()) cursor = std::max(cursor, std::prev(at)->second);
            const auto gap = [&](std::int64_t from, std::int64_t to) {
                const double x0 = scale.x(from), x1 = scale.x(to);
                if (to <= from || x1 - x0 < kIdlePixels) return;
                DrawRect rect;
                rect.x = x0;
                rect.y = y;
                rect.width = x1 - x0;
                rect.height = height;
                rect.fill = ColourRole::BoundIdle;
                rect.emphasis = Emphasis::Dimmed;
                rect.hatched = true;
                rect.layer = -1;
                list.rects.push_back(rect);
                if (x1 - x0 < 72 || height < 10) return;
                DrawText text;
                text.text = "idle " + formatDuration(Scale::ns(from, to));
                text.size = 11;
                text.x = (x0 + x1) / 2;
                text.y = y + height / 2 + 4;
                text.align = TextAlign::Centre;
                text.fill = ColourRole::TextMuted;
                text.max_width = x1 - x0 - 8;
                list.texts.push_back(std::move(text));
            };
            for (; at != intervals.end() && at->first < end; ++at) {
                gap(cursor, at->first);
                cursor = std::max(cursor, at->second);
            }
            gap(cursor, end);
        }
    }
}

} // namespace fusescope::timeline
