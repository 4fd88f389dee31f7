// SPDX-License-Identifier: Apache-2.0
// Which slices of a selection matter to a view, in time that depends on its pixels and not on the size of the
// selection.
#include "core/draw/timeline_parts.h"

#include <algorithm>
#include <limits>

namespace fusescope::timeline {

std::vector<SliceId> selectedSlices(const Analysis& analysis, const TimelineView& view,
                                    const SelectionSets& selection) {
    std::vector<SliceId> slices;
    const TraceStore& trace = *analysis.trace;
    if (selection.pick.kind == PickKind::None) return slices;
    const auto add = [&](SliceId slice) {
        if (!slice.valid() || slice.index() >= trace.slices.size()) return;
        if (trace.slices.ts[slice.index()] <= view.t1 && trace.endOf(slice) >= view.t0) slices.push_back(slice);
    };
    const auto sliceOf = [&](std::size_t i) {
        const KernelId kernel = selection.kernels[i];
        return kernel.index() < trace.kernels.size() ? trace.kernels.slice[kernel.index()] : SliceId();
    };
    const auto start = [&](std::size_t i) {
        const SliceId slice = sliceOf(i);
        return slice.valid() ? trace.slices.ts[slice.index()] : std::numeric_limits<std::int64_t>::max();
    };
    // Kernels are in time order. First one that starts at t or later, from a position on.
    const auto firstFrom = [&](std::size_t from, std::int64_t t) {
        std::size_t step = 1, low = from, high = from;
        for (; high < selection.kernels.size() && start(high) < t; high += step, step *= 2) low = high + 1;
        high = std::min(high, selection.kernels.size());
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (start(middle) < t)
                low = middle + 1;
            else
                high = middle;
        }
        return low;
    };
    const auto addKernel = [&](std::size_t i) {
        add(sliceOf(i));
        const KernelId kernel = selection.kernels[i];
        if (kernel.index() >= analysis.link.kernels.size()) return;
        const WorkLink& link = analysis.link.kernels[kernel.index()];
        add(link.launch);
        if (link.op.valid() && link.op.index() < trace.cpu_ops.size()) add(trace.cpu_ops.slice[link.op.index()]);
    };
    // Of kernels too short to be seen one is enough for each pixel: a selection may hold a million of them.
    const double ns_per_pixel = view.width >= 1 ? Scale::ns(view.t0, view.t1) / view.width : 0;
    const auto pixel = static_cast<std::int64_t>(std::clamp(ns_per_pixel, 1.0, 1e15));
    const auto tiny = [&](std::size_t i) { return sliceOf(i).valid() && trace.slices.dur[sliceOf(i).index()] < pixel; };
    constexpr std::size_t reach = 32; // kernels before the view that may last into it
    std::size_t i = firstFrom(0, view.t0);
    for (i -= std::min(i, reach); i < selection.kernels.size() && start(i) <= view.t1;) {
        addKernel(i);
        if (!tiny(i)) {
            ++i;
            continue;
        }
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        const std::size_t next = firstFrom(i + 1, start(i) > most - pixel ? most : start(i) + pixel);
        if (next > i + 1 && !tiny(next - 1)) addKernel(next - 1); // a long one may begin in the same pixel
        i = next;
    }
    add(selection.slice);
    std::sort(slices.begin(), slices.end());
    slices.erase(std::unique(slices.begin(), slices.end()), slices.end());
    return slices;
}

} // namespace fusescope::timeline
