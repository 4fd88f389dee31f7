// SPDX-License-Identifier: Apache-2.0
// Which tracks and which of their depths stand where.
#include "core/draw/timeline_parts.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>

namespace fusescope {
namespace {

using namespace timeline;

// How much each depth of each track has to tell, from a sample: a glance at a million slices is enough to choose rows.
struct Census {
    std::vector<std::vector<std::uint32_t>> telling; // track, depth
    std::vector<std::uint32_t> slices, python;       // per track
};

bool isModuleFrame(std::string_view name) noexcept { return name.substr(0, 10) == "nn.Module:"; }

Census census(const TraceStore& trace) {
    Census result;
    result.telling.resize(trace.tracks.size());
    result.slices.resize(trace.tracks.size());
    result.python.resize(trace.tracks.size());
    const std::size_t n = trace.slices.size(), stride = n / 1'000'000 + 1;
    for (std::size_t i = 0; i < n; i += stride) {
        const std::size_t track = trace.slices.track[i].index();
        if (track >= trace.tracks.size()) continue;
        ++result.slices[track];
        const bool python = trace.slices.category[i] == Category::PythonFunction;
        if (python) ++result.python[track];
        if (python && !isModuleFrame(trace.strings.view(trace.slices.name[i]))) continue;
        auto& row = result.telling[track];
        const std::size_t depth = trace.slices.depth[i];
        if (row.size() <= depth) row.resize(depth + 1);
        ++row[depth];
    }
    return result;
}

std::vector<std::uint16_t> shownDepths(const std::vector<std::uint32_t>& telling, std::size_t depths,
                                       std::size_t limit) {
    std::vector<std::uint16_t> all(depths);
    std::iota(all.begin(), all.end(), std::uint16_t{0});
    if (depths <= limit) return all;
    const auto worth = [&](std::uint16_t d) { return d < telling.size() ? telling[d] : 0U; };
    std::stable_sort(all.begin(), all.end(), [&](std::uint16_t a, std::uint16_t b) { return worth(a) > worth(b); });
    all.resize(limit);
    std::sort(all.begin(), all.end());
    return all;
}

int groupOf(TrackKind kind) noexcept {
    return kind == TrackKind::GpuStream || kind == TrackKind::GpuAnnotation ? 1 : 0;
}

} // namespace

TimelineLayout timelineLayout(const Analysis& analysis, const TimelineOptions& options) {
    TimelineLayout layout;
    if (!analysis.trace) return layout;
    const TraceStore& trace = *analysis.trace;

    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < trace.tracks.size(); ++i)
        if (showsWork(trace.tracks[i])) order.push_back(i);
    const auto key = [&](std::uint32_t i) {
        const Track& t = trace.tracks[i];
        const bool gpu = groupOf(t.kind) == 1;
        // Annotations stand above the streams of their device; sort_index decides among equals.
        return std::tuple(groupOf(t.kind), gpu ? t.device : 0, gpu && t.kind == TrackKind::GpuStream ? 1 : 0,
                          t.sort_index, t.stream, t.pid, t.tid, i);
    };
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });

    const auto limit = static_cast<std::size_t>(std::clamp(options.depth_limit, 1.0, 200.0));
    const bool deep =
        std::any_of(order.begin(), order.end(), [&](std::uint32_t i) { return trace.tracks[i].depths > limit; });
    const Census counts = deep || !options.collapsed.empty() ? census(trace) : Census{};

    const bool several_devices = hasSeveralDevices(trace);
    std::vector<bool> collapsed(trace.tracks.size(), false);
    for (const TrackId track : options.collapsed)
        if (track.index() < collapsed.size()) collapsed[track.index()] = true;
    double y = 0;
    bool gpu_before = false;
    for (const std::uint32_t i : order) {
        const Track& track = trace.tracks[i];
        TimelineRow row;
        row.track = TrackId(i);
        row.gpu = groupOf(track.kind) == 1;
        row.label = labelOfTrack(trace, track, several_devices);
        row.collapsed = collapsed[i];
        row.line_height =
            track.kind == TrackKind::GpuAnnotation ? std::min(14.0, options.row_height) : options.row_height;
        static const std::vector<std::uint32_t> none;
        row.shown =
            shownDepths(i < counts.telling.size() ? counts.telling[i] : none, std::max<std::size_t>(1, track.depths),
                        row.collapsed ? std::max<std::size_t>(limit, 24) : limit);
        row.depths = row.collapsed ? std::uint16_t{1} : static_cast<std::uint16_t>(row.shown.size());
        row.height = row.line_height * row.depths + (track.kind == TrackKind::GpuStream ? kFlagLane : 0);
        if (row.gpu && !gpu_before && !layout.rows.empty()) y += kRowGap; // a wider gap parts CPU from GPU
        gpu_before = row.gpu;
        row.y = y;
        y += row.height + (track.kind == TrackKind::GpuAnnotation ? 2 : kRowGap);
        layout.rows.push_back(std::move(row));
    }
    layout.height = y;
    return layout;
}

std::vector<TrackId> pythonHeavyTracks(const Analysis& analysis) {
    std::vector<TrackId> tracks;
    if (!analysis.trace) return tracks;
    const Census counts = census(*analysis.trace);
    for (std::size_t i = 0; i < counts.slices.size(); ++i)
        if (analysis.trace->tracks[i].depths > 8 && counts.python[i] * 2 > counts.slices[i]) tracks.emplace_back(i);
    return tracks;
}

} // namespace fusescope
