// SPDX-License-Identifier: Apache-2.0
// Measured findings: the fused kernel where the region began, and what it replaces as a ghost.
#include "core/draw/text_fit.h"
#include "core/draw/timeline_parts.h"

#include "core/base/format.h"

#include <algorithm>
#include <vector>

namespace fusescope::timeline {
namespace {

constexpr double kLeastPixels = 3; // shorter regions stay as they are

class FusedPainter {
public:
    FusedPainter(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view, DrawList& list)
        : analysis_(analysis), trace_(*analysis.trace), layout_(layout), view_(view), scale_(view), list_(list) {}

    void paint(const TimelineFused& fused, const std::vector<KernelId>& kernels, double fused_ns, Emphasis emphasis) {
        if (fused_ns < 0 || kernels.empty() || kernels.back().index() >= trace_.kernels.size()) return;
        const SliceId first = sliceOf(kernels.front()), last = sliceOf(kernels.back());
        const std::int64_t begin = trace_.slices.ts[first.index()];
        if (begin > view_.t1 || trace_.endOf(last) < view_.t0) return;
        if (scale_.x(trace_.endOf(last)) - scale_.x(begin) < kLeastPixels) return;
        const TimelineRow* row = rowOf(trace_.slices.track[first.index()]);
        if (row == nullptr) return;
        const double y = row->y - view_.scroll_y;
        if (y + row->height < 0 || y > view_.height) return;
        const Pick pick = pickOf(fused);
        for (const KernelId kernel : kernels) {
            if (kernel.index() >= trace_.kernels.size()) continue;
            const SliceId slice = sliceOf(kernel);
            if (trace_.slices.track[slice.index()] != row->track) continue;
            ghost(slice, *row, y, pick, roleOf(fused.speed));
        }
        DrawRect rect = place(begin, begin + static_cast<std::int64_t>(fused_ns), *row, y);
        rect.width = std::max(rect.width, 2.0);
        rect.stroke = roleOf(fused.speed);
        rect.pick = pick;
        drawFusedBox(rect, roleOfKernels(analysis_, kernels), fused_ns, emphasis, list_);
    }

private:
    [[nodiscard]] SliceId sliceOf(KernelId kernel) const { return trace_.kernels.slice[kernel.index()]; }
    [[nodiscard]] const TimelineRow* rowOf(TrackId track) const {
        const auto at = std::find_if(layout_.rows.begin(), layout_.rows.end(),
                                     [&](const TimelineRow& row) { return row.gpu && row.track == track; });
        return at == layout_.rows.end() ? nullptr : &*at;
    }
    [[nodiscard]] DrawRect place(std::int64_t from, std::int64_t to, const TimelineRow& row, double y) const {
        DrawRect rect;
        rect.x = scale_.x(from);
        rect.width = scale_.x(to) - rect.x;
        rect.y = y;
        rect.height = row.line_height * row.depths - 2;
        return rect;
    }
    void ghost(SliceId slice, const TimelineRow& row, double y, Pick pick, ColourRole stroke) {
        DrawRect rect = place(trace_.slices.ts[slice.index()], trace_.endOf(slice), row, y);
        if (rect.x + rect.width < 0 || rect.x > view_.width) return;
        rect.fill = ColourRole::Background; // hides the kernel, whose colour then comes back faintly
        rect.layer = 1;
        rect.pick = pick;
        list_.rects.push_back(rect);
        rect.fill = roleOfSlice(analysis_, slice);
        rect.emphasis = Emphasis::Dimmed;
        rect.stroke = stroke;
        rect.stroke_width = rect.width >= kLeastPixels ? 1 : 0;
        rect.dashed = true;
        list_.rects.push_back(rect);
    }

    const Analysis& analysis_;
    const TraceStore& trace_;
    const TimelineLayout& layout_;
    const TimelineView& view_;
    Scale scale_;
    DrawList& list_;
};

} // namespace

void drawFusedBox(DrawRect rect, ColourRole fill, double fused_ns, Emphasis emphasis, DrawList& list) {
    rect.fill = fill;
    rect.stroke_width = rect.width >= 2 ? 1.5 : 0; // else nothing but its outline were left
    rect.emphasis = emphasis;
    rect.layer = 2;
    list.rects.push_back(rect);
    // The label stays in sight while its box is partly scrolled out.
    const double left = std::max(rect.x, 0.0) + 3, right = std::min(rect.x + rect.width, list.width) - 3;
    if (right - left < 34) return;
    DrawText text;
    text.size = 10;
    text.text = elided("fused " + formatDuration(fused_ns), {text.size}, right - left);
    if (text.text.empty()) return;
    text.x = left;
    text.y = rect.y + rect.height / 2 + 4;
    text.fill = emphasis == Emphasis::Dimmed ? ColourRole::TextMuted : textOn(rect.fill);
    text.layer = 3;
    text.pick = rect.pick;
    list.texts.push_back(std::move(text));
}

void drawFused(const Analysis& analysis, const TimelineLayout& layout, const TimelineView& view,
               const SelectionSets& selection, std::span<const TimelineFused> fused, DrawList& list) {
    FusedPainter painter(analysis, layout, view, list);
    for (const TimelineFused& one : fused) {
        const Instance* instance = instanceOf(analysis, one);
        if (instance == nullptr) continue;
        const Emphasis emphasis =
            isPicked(selection, one) || !somePicked(selection) ? Emphasis::Normal : Emphasis::Dimmed;
        painter.paint(one, instance->forward, one.forward_ns, emphasis);
        painter.paint(one, instance->backward, one.backward_ns, emphasis);
    }
}

} // namespace fusescope::timeline
