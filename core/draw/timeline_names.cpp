// SPDX-License-Identifier: Apache-2.0
// Colour and text of slices and tracks.
#include "core/draw/names.h"
#include "core/draw/timeline_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

namespace fusescope::timeline {

constexpr std::int64_t kMostTime = std::int64_t{1} << 50U; // of one slice in a sum: thousands of damaged ones fit

void spansInView(const Analysis& analysis, const TimelineView& view, TrackId track, std::uint16_t depth,
                 double fold_pixels, std::vector<LodSpan>& out) {
    const TraceStore& trace = *analysis.trace;
    const std::int64_t t0 = std::max(view.t0, trace.begin), t1 = std::min(view.t1, trace.end);
    if (t1 < t0 || view.t1 <= view.t0) return;
    const double share = Scale::ns(t0, t1) / Scale::ns(view.t0, view.t1);
    const int pixels = static_cast<int>(std::clamp(std::ceil(view.width / fold_pixels * share), 1.0, 16384.0));
    analysis.index->query(track, depth, t0, t1 + 1, pixels, out);
}

TimelineView recordedView(const TimelineView& view, const TimeMap* map) noexcept {
    if (map == nullptr) return view;
    TimelineView recorded = view;
    recorded.t0 = map->back(view.t0);
    recorded.t1 = std::max(map->back(view.t1), recorded.t0 + 1);
    recorded.width = view.width * std::max(1.0, Scale::ns(recorded.t0, recorded.t1) / Scale::ns(view.t0, view.t1));
    return recorded;
}

KernelId kernelOf(const TraceStore& trace, SliceId slice) noexcept {
    if (!slice.valid() || slice.index() >= trace.slices.size()) return {};
    if (trace.slices.category[slice.index()] != Category::Kernel) return {};
    const std::uint32_t row = trace.slices.detail[slice.index()];
    return row < trace.kernels.size() ? KernelId(row) : KernelId();
}

ColourRole roleOfSlice(const Analysis& analysis, SliceId slice) noexcept {
    const TraceStore& trace = *analysis.trace;
    if (!slice.valid() || slice.index() >= trace.slices.size()) return ColourRole::KindOther;
    const std::uint32_t detail = trace.slices.detail[slice.index()];
    switch (trace.slices.category[slice.index()]) {
    case Category::Kernel:
        return detail < analysis.link.kernels.size() ? roleOf(analysis.link.kernels[detail].kind)
                                                     : ColourRole::KindOther;
    case Category::GpuMemcpy:
    case Category::GpuMemset: return ColourRole::KindCopy;
    case Category::UserAnnotation:
    case Category::GpuUserAnnotation: return ColourRole::Annotation;
    case Category::CudaRuntime:
    case Category::CudaDriver: return ColourRole::Launch;
    case Category::CpuOp: return ColourRole::CpuOp;
    case Category::CudaSync: return ColourRole::BoundIdle; // waiting
    case Category::CudaEvent:
    case Category::Overhead:
    case Category::PythonFunction:
    case Category::TraceSpan:
    case Category::Other: break;
    }
    return ColourRole::PythonFrame;
}

ColourRole roleOfSpan(const Analysis& analysis, TrackId track, const LodSpan& span) noexcept {
    // A run of neighbours holds kinds as they come, a few long matmuls among many short kernels; single picks would
    // miss the long ones. The run is about as long as a layer and short enough for thousands of spans a frame.
    constexpr std::uint32_t run = 64;
    ColourRole most = roleOfSlice(analysis, span.slice);
    if (span.count <= 1) return most;
    std::array<std::int64_t, static_cast<std::size_t>(ColourRole::Count_)> time{};
    const std::uint32_t taken = std::min(run, span.count);
    const std::size_t begin = std::size_t{span.first} + (span.count - taken) / 2;
    for (std::size_t position = begin; position < begin + taken; ++position) {
        const SliceId slice = analysis.index->inRow(track, span.depth, position);
        if (!slice.valid()) break;
        const ColourRole role = roleOfSlice(analysis, slice);
        std::int64_t& sum = time[static_cast<std::size_t>(role)];
        sum += std::min(analysis.trace->slices.dur[slice.index()], kMostTime);
        if (sum > time[static_cast<std::size_t>(most)]) most = role;
    }
    return most;
}

ColourRole roleOfKernels(const Analysis& analysis, std::span<const KernelId> kernels) noexcept {
    const TraceStore& trace = *analysis.trace;
    ColourRole most = ColourRole::KindOther;
    std::array<std::int64_t, static_cast<std::size_t>(ColourRole::Count_)> time{};
    for (const KernelId kernel : kernels) {
        if (kernel.index() >= trace.kernels.size()) continue;
        const SliceId slice = trace.kernels.slice[kernel.index()];
        const ColourRole role = roleOfSlice(analysis, slice);
        std::int64_t& sum = time[static_cast<std::size_t>(role)];
        sum += std::min(trace.slices.dur[slice.index()], kMostTime);
        if (sum > time[static_cast<std::size_t>(most)]) most = role;
    }
    return most;
}

std::string labelOfSlice(const Analysis& analysis, SliceId slice, double width) {
    const TraceStore& trace = *analysis.trace;
    const std::string_view name = trace.nameOf(slice);
    switch (trace.slices.category[slice.index()]) {
    case Category::Kernel: {
        const std::string_view kernel = displayKernelName(name);
        const std::uint32_t row = trace.slices.detail[slice.index()];
        if (row >= analysis.link.kernels.size()) return std::string(kernel);
        const CpuOpId op = analysis.link.kernels[row].op;
        if (!op.valid() || op.index() >= trace.cpu_ops.size()) return std::string(kernel);
        // The operator is what people know; the kernel's own name follows where there is room.
        std::string text(displayOpName(trace.nameOf(trace.cpu_ops.slice[op.index()])));
        if (width >= 140) text.append(" · ").append(kernel);
        return text;
    }
    case Category::PythonFunction: return std::string(displayFrameName(name));
    case Category::GpuMemcpy: return std::string(name.substr(0, name.find(" (")));
    default: return std::string(name.substr(0, 256));
    }
}

bool hasSeveralDevices(const TraceStore& trace) noexcept {
    std::optional<std::int32_t> first;
    for (const Track& t : trace.tracks) {
        if (t.kind != TrackKind::GpuStream || t.slices == 0) continue;
        if (first && *first != t.device) return true;
        first = t.device;
    }
    return false;
}

std::string labelOfTrack(const TraceStore& trace, const Track& track, bool several_devices) {
    std::string_view name = trace.strings.view(track.name);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    const bool gpu = track.kind == TrackKind::GpuStream || track.kind == TrackKind::GpuAnnotation;
    std::string prefix;
    if (trace.several_processes)
        if (const auto process = trace.process_names.find(track.process); process != trace.process_names.end())
            // Labels are short: where it has no name the number is what counts.
            prefix = (process->second == fmt::format("process {}", track.process) ? fmt::format("pid {}", track.process)
                                                                                  : process->second) +
                     " · ";
    if (!gpu) return prefix + (name.empty() ? fmt::format("thread {}", track.tid) : std::string(name));
    if (several_devices) prefix += fmt::format("GPU {} · ", track.device);
    if (track.kind == TrackKind::GpuAnnotation) return prefix + "GPU annotations";
    return prefix + (name.empty() ? fmt::format("stream {}", track.stream) : std::string(name));
}

bool showsWork(const Track& track) noexcept { return track.slices > 0 && track.kind != TrackKind::Span; }

} // namespace fusescope::timeline
