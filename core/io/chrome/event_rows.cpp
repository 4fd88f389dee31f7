// SPDX-License-Identifier: Apache-2.0
// A whole event into rows: which table, which track, which texts.
#include "core/io/chrome/event_parser.h"
#include "core/io/chrome/json_text.h"
#include "core/trace/plausible_time.h"

#include <algorithm>
#include <limits>

namespace fusescope::chrome {
namespace {

template <class T> T clampedTo(std::int64_t n, T fallback) {
    return n < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
                   n > static_cast<std::int64_t>(std::numeric_limits<T>::max())
               ? fallback
               : static_cast<T>(n);
}

} // namespace

Category categoryOf(std::string_view text) noexcept {
    switch (text.size()) {
    case 5: return text == "Trace" ? Category::TraceSpan : Category::Other;
    case 6:
        if (text == "cpu_op") return Category::CpuOp;
        if (text == "kernel" || text == "Kernel") return Category::Kernel;
        if (text == "Memcpy") return Category::GpuMemcpy; // "Kernel", "Memcpy", "Runtime" ...: before 2021
        if (text == "Memset") return Category::GpuMemset;
        return Category::Other;
    case 7: return text == "Runtime" ? Category::CudaRuntime : Category::Other;
    case 8:
        if (text == "overhead") return Category::Overhead;
        return text == "Operator" ? Category::CpuOp : Category::Other;
    case 9: return text == "cuda_sync" ? Category::CudaSync : Category::Other;
    case 10:
        if (text == "gpu_memcpy") return Category::GpuMemcpy;
        if (text == "gpu_memset") return Category::GpuMemset;
        return text == "cuda_event" ? Category::CudaEvent : Category::Other;
    case 11:
        if (text == "cuda_driver") return Category::CudaDriver;
        return text == "xpu_runtime" ? Category::CudaRuntime : Category::Other;
    case 12: return text == "cuda_runtime" ? Category::CudaRuntime : Category::Other;
    case 15:
        if (text == "python_function") return Category::PythonFunction;
        return text == "user_annotation" ? Category::UserAnnotation : Category::Other;
    case 19: return text == "gpu_user_annotation" ? Category::GpuUserAnnotation : Category::Other;
    default: return Category::Other;
    }
}

std::size_t EventParser::TrackHash::operator()(const LocalTrack& t) const noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(t.kind);
    for (const std::uint64_t part : {static_cast<std::uint64_t>(t.pid), static_cast<std::uint64_t>(t.tid),
                                     static_cast<std::uint64_t>(t.stream), static_cast<std::uint64_t>(t.device),
                                     static_cast<std::uint64_t>(t.pid_text), static_cast<std::uint64_t>(t.tid_text)})
        h = (h ^ part) * 0x9E3779B97F4A7C15ULL + (h >> 29U);
    return static_cast<std::size_t>(h);
}

std::uint32_t EventParser::textId(std::string_view raw) {
    if (!needsUnescape(raw, check_bytes_)) return out_.strings.add(raw);
    TextRepair repair;
    std::string text = unescaped(raw, repair);
    if (repair.any()) note(Oddity::RepairedText, event_.begin);
    return out_.strings.add(out_.own_text.emplace_back(std::move(text)));
}

std::uint32_t EventParser::narrowId(std::int64_t id) {
    if (id <= 0) return 0; // -1 and 0: none
    if (id <= std::numeric_limits<std::uint32_t>::max()) return static_cast<std::uint32_t>(id);
    note(Oddity::WideId, event_.begin);
    return 0;
}

std::uint32_t EventParser::trackOf(Category category) {
    LocalTrack track;
    track.pid = event_.pid;
    track.tid = event_.tid;
    if (!event_.pid_text.empty()) track.pid_text = textId(event_.pid_text);
    if (!event_.tid_text.empty()) track.tid_text = textId(event_.tid_text);
    const bool gpu = isGpuWork(category) || category == Category::GpuUserAnnotation || category == Category::CudaSync ||
                     category == Category::CudaEvent;
    if (gpu) {
        constexpr std::int64_t kMaxDevices = 1024; // a larger pid is a process, not a GPU
        track.device = args_.device >= 0                             ? clampedTo<std::int32_t>(args_.device, -1)
                       : event_.pid >= 0 && event_.pid < kMaxDevices ? static_cast<std::int32_t>(event_.pid)
                                                                     : -1;
        track.stream = args_.stream >= 0 ? args_.stream : event_.tid;
    }
    switch (category) {
    case Category::Kernel:
    case Category::GpuMemcpy:
    case Category::GpuMemset: track.kind = TrackKind::GpuStream; break;
    case Category::GpuUserAnnotation: track.kind = TrackKind::GpuAnnotation; break;
    case Category::CudaSync:
    case Category::CudaEvent:
    case Category::Overhead: track.kind = TrackKind::Other; break;
    case Category::TraceSpan: track.kind = TrackKind::Span; break;
    default: track.kind = TrackKind::CpuThread; break;
    }
    std::uint32_t& last = last_track_[static_cast<std::size_t>(track.kind)];
    if (last != kNone && out_.tracks[last] == track) return last;
    const auto [it, fresh] = track_ids_.try_emplace(track, static_cast<std::uint32_t>(out_.tracks.size()));
    if (fresh) out_.tracks.push_back(track);
    last = it->second;
    return last;
}

void EventParser::emit() {
    EventCounts& n = out_.counts;
    ++n.total;
    event_.emitted = true;
    if (event_.not_a_number) note(Oddity::NotANumber, event_.begin);
    if (event_.bad_key) note(Oddity::RepairedKey, event_.begin);
    switch (event_.phase) {
    case 'X': emitSlice(); return;
    case 'M':
        ++n.metadata;
        emitName();
        return;
    case 'i':
    case 'I':
    case 'R': ++n.instant; return;
    case 's':
    case 't':
    case 'f': ++n.flow; return;
    case 'C': ++n.counter; return;
    case 'B':
    case 'E': note(Oddity::BeginEnd, event_.begin); break;
    case 0: note(Oddity::NoPhase, event_.begin); break;
    default: break;
    }
    ++n.other;
}

void EventParser::emitSlice() {
    if (!event_.has_ts) {
        ++out_.counts.dropped;
        note(event_.bad_ts ? Oddity::BadTime : Oddity::NoTime, event_.begin);
        return;
    }
    if (!isPlausibleTime(event_.ts)) {
        ++out_.counts.dropped;
        note(Oddity::FarTime, event_.begin);
        return;
    }
    if (!event_.has_dur)
        note(Oddity::NoDuration, event_.begin);
    else if (event_.bad_dur)
        note(Oddity::BadDuration, event_.begin);
    else if (event_.dur < 0) {
        note(Oddity::NegativeDuration, event_.begin);
        event_.dur = 0;
    } else if (!isPlausibleDuration(event_.dur)) {
        note(Oddity::LongDuration, event_.begin);
        event_.dur = 0;
    }
    ++out_.counts.complete;
    Category category = categoryOf(event_.cat);
    if (!event_.has_cat) { // the exporter of 2020 had none
        if (event_.pid_text == "CPU functions")
            category = Category::CpuOp;
        else if (event_.pid_text == "CUDA functions")
            category = Category::Kernel;
    }
    SliceRow row;
    row.ts = event_.ts;
    row.dur = event_.dur;
    row.category = category;
    row.name = textId(event_.name);
    row.track = trackOf(category);
    if (args_.bad_id) note(Oddity::BadId, event_.begin);
    row.correlation = narrowId(args_.correlation);
    row.external_id = narrowId(args_.external_id);
    if (event_.has_args) {
        const std::size_t length = event_.args_end - event_.args_begin;
        row.args_offset = base_ + event_.args_begin;
        row.args_length = length > 2 ? static_cast<std::uint32_t>(length) : 0; // {}
    }
    const LocalTrack& track = out_.tracks[row.track];
    if (category == Category::Kernel) {
        row.detail = static_cast<std::uint32_t>(out_.kernels.size());
        KernelDetail& k = out_.kernels.emplace_back();
        if (args_.bad_grid) note(Oddity::BadGrid, event_.begin);
        k.device = track.device;
        k.stream = track.stream;
        k.grid = args_.grid;
        k.block = args_.block;
        k.registers = clampedTo<std::uint16_t>(args_.registers, 0);
        k.shared_bytes = clampedTo<std::uint32_t>(args_.shared, 0);
        k.occupancy = clampedTo<std::int16_t>(args_.occupancy, -1);
        k.graph_id = clampedTo<std::uint32_t>(args_.graph_id, 0);
        k.graph_node = clampedTo<std::uint32_t>(args_.graph_node, 0);
    } else if (isGpuWork(category)) {
        row.detail = static_cast<std::uint32_t>(out_.copies.size());
        out_.copies.push_back(
            {track.device, track.stream, static_cast<std::uint64_t>(std::max<std::int64_t>(0, args_.bytes))});
    } else if (category == Category::CpuOp) {
        row.detail = static_cast<std::uint32_t>(out_.ops.size());
        OpRow& op = out_.ops.emplace_back();
        const auto text = [&](std::string_view raw) { return raw.empty() ? kNone : out_.strings.add(raw); };
        op.sequence = args_.sequence;
        op.fwd_thread = args_.fwd_thread;
        op.dims = text(args_.dims);
        op.types = text(args_.types);
        op.strides = text(args_.strides);
        op.concrete = text(args_.concrete);
    }
    out_.slices.push_back(row);
}

void EventParser::emitName() {
    NameRow row;
    if (event_.name == "process_name")
        row.what = NameRow::What::ProcessName;
    else if (event_.name == "thread_name")
        row.what = NameRow::What::ThreadName;
    else if (event_.name == "thread_sort_index")
        row.what = NameRow::What::ThreadOrder;
    else
        return;
    row.pid = event_.pid;
    row.tid = event_.tid;
    if (!event_.pid_text.empty()) row.pid_text = textId(event_.pid_text);
    if (!event_.tid_text.empty()) row.tid_text = textId(event_.tid_text);
    if (args_.has_name) row.text = textId(args_.name);
    row.order = args_.sort_index;
    out_.names.push_back(row);
}

} // namespace fusescope::chrome
