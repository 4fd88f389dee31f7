// SPDX-License-Identifier: Apache-2.0
#include "core/measured/replay_work.h"

#include <algorithm>
#include <string_view>

namespace fusescope {
namespace {

std::int32_t deviceOf(const TraceStore& trace, SliceId slice) {
    return trace.tracks[trace.slices.track[slice.index()].index()].device;
}

// Begin of the call that launched a piece of work.
std::int64_t launchOf(const TraceStore& trace, const std::vector<WorkLink>& links, std::size_t row) {
    const SliceId launch = row < links.size() ? links[row].launch : SliceId();
    return launch.valid() && launch.index() < trace.slices.size() ? trace.slices.ts[launch.index()] : kNoLaunch;
}

class Builder {
public:
    Builder(const Analysis& analysis, std::int64_t begin, std::int64_t end)
        : a_(analysis), trace_(*analysis.trace), begin_(begin), end_(end) {}

    void add(const std::vector<SliceId>& slices, const std::vector<WorkLink>& links) {
        for (std::size_t i = 0; i < slices.size(); ++i) {
            const SliceId slice = slices[i];
            if (a_.step >= 0 && trace_.slices.step[slice.index()] != a_.step) continue;
            GpuRow row;
            row.slice = slice;
            row.begin = trace_.slices.ts[slice.index()];
            row.end = trace_.endOf(slice);
            if (row.begin < begin_ || row.end > end_ || row.end < row.begin) continue;
            if (const std::int64_t launch = launchOf(trace_, links, i); launch <= row.begin) row.launch = launch;
            row.device = indexOf(deviceOf(trace_, slice));
            if (i < links.size() && links[i].kind == OpKind::Communication)
                row.meets = Meets::All;
            else if (trace_.slices.category[slice.index()] == Category::GpuMemcpy &&
                     trace_.nameOf(slice).find("PtoP") != std::string_view::npos)
                row.meets = Meets::One;
            work_.rows.push_back(row);
        }
    }

    GpuWork finish() {
        std::vector<GpuRow>& rows = work_.rows;
        std::sort(rows.begin(), rows.end(), [](const GpuRow& x, const GpuRow& y) {
            return x.begin != y.begin ? x.begin < y.begin : x.slice < y.slice;
        });
        std::vector<std::int64_t> covered(work_.devices.size(), begin_);
        std::vector<std::size_t> launched;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            std::int64_t& until = covered[rows[i].device];
            rows[i].idle = std::max<std::int64_t>(0, rows[i].begin - until);
            until = std::max(until, rows[i].end);
            if (rows[i].launch != kNoLaunch) launched.push_back(i);
        }
        std::stable_sort(launched.begin(), launched.end(),
                         [&](std::size_t x, std::size_t y) { return rows[x].launch < rows[y].launch; });
        for (std::size_t rank = 0; rank < launched.size(); ++rank) rows[launched[rank]].rank = rank + 1;
        return std::move(work_);
    }

private:
    std::size_t indexOf(std::int32_t device) {
        std::vector<std::int32_t>& all = work_.devices;
        const auto at = std::find(all.begin(), all.end(), device);
        const auto index = static_cast<std::size_t>(at - all.begin());
        if (at == all.end()) all.push_back(device);
        return index;
    }

    const Analysis& a_;
    const TraceStore& trace_;
    std::int64_t begin_, end_;
    GpuWork work_;
};

} // namespace

GpuWork gpuWork(const Analysis& analysis, std::int64_t begin, std::int64_t end) {
    Builder builder(analysis, begin, end);
    builder.add(analysis.trace->kernels.slice, analysis.link.kernels);
    builder.add(analysis.trace->copies.slice, analysis.link.copies);
    return builder.finish();
}

std::size_t rowOf(const Analysis& analysis, const GpuWork& work, KernelId kernel) {
    const TraceStore& trace = *analysis.trace;
    if (kernel.index() >= trace.kernels.size()) return kNoRow;
    const SliceId slice = trace.kernels.slice[kernel.index()];
    const std::int64_t begin = trace.slices.ts[slice.index()];
    const auto at = std::partition_point(work.rows.begin(), work.rows.end(), [&](const GpuRow& row) {
        return row.begin != begin ? row.begin < begin : row.slice < slice;
    });
    return at != work.rows.end() && at->slice == slice ? static_cast<std::size_t>(at - work.rows.begin()) : kNoRow;
}

NextWork workAt(const Analysis& analysis, std::int64_t begin, std::size_t step) {
    const TraceStore& trace = *analysis.trace;
    const auto of = [&](const std::vector<SliceId>& slices, const std::vector<WorkLink>& links) -> NextWork {
        auto at = std::lower_bound(slices.begin(), slices.end(), begin,
                                   [&](SliceId id, std::int64_t t) { return trace.slices.ts[id.index()] < t; });
        const auto isThen = [&] { return at != slices.end() && trace.slices.ts[at->index()] == begin; };
        while (isThen() && trace.slices.step[at->index()] != static_cast<std::int64_t>(step)) ++at;
        if (!isThen()) return {};
        return {deviceOf(trace, *at), launchOf(trace, links, static_cast<std::size_t>(at - slices.begin()))};
    };
    const NextWork kernel = of(trace.kernels.slice, analysis.link.kernels),
                   copy = of(trace.copies.slice, analysis.link.copies);
    if (kernel.launch != copy.launch) return kernel.launch < copy.launch ? copy : kernel;
    return kernel.device < 0 ? copy : kernel;
}

} // namespace fusescope
