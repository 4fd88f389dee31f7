// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/import.h"

#include <simdjson.h>

#include <charconv>

namespace fusescope::chrome {

std::int64_t Importer::numberOf(std::int64_t number, std::string_view text) {
    if (text.empty()) return number;
    const auto it = text_ids_.find(text);
    if (it != text_ids_.end()) return it->second;
    const std::int64_t fresh = -2 - static_cast<std::int64_t>(text_ids_.size());
    text_ids_.emplace(text, fresh);
    return fresh;
}

TrackId Importer::trackOf(const EventRow &row) {
    const std::int64_t pid = numberOf(row.pid, row.pid_text), tid = numberOf(row.tid, row.tid_text);
    const auto device = row.kernel.device >= 0 ? row.kernel.device
                        : pid >= 0 && pid < 1024 ? static_cast<std::int32_t>(pid)
                                                 : -1;
    const std::int64_t stream = row.kernel.stream >= 0 ? row.kernel.stream : tid;
    switch (row.category) {
    case Category::Kernel:
    case Category::GpuMemcpy:
    case Category::GpuMemset: return builder_.track(TrackKind::GpuStream, pid, tid, device, stream);
    case Category::GpuUserAnnotation: return builder_.track(TrackKind::GpuAnnotation, pid, tid, device, tid);
    case Category::CudaSync:
    case Category::CudaEvent: return builder_.track(TrackKind::Other, pid, tid, device, stream);
    case Category::TraceSpan: return builder_.track(TrackKind::Span, pid, tid);
    default: return builder_.track(TrackKind::CpuThread, pid, tid);
    }
}

void Importer::add(const Decoded &decoded) {
    EventCounts &counts = builder_.meta().counts;
    const EventCounts &more = decoded.counts;
    counts.total += more.total;
    counts.complete += more.complete;
    counts.instant += more.instant;
    counts.flow += more.flow;
    counts.metadata += more.metadata;
    counts.counter += more.counter;
    counts.other += more.other;
    counts.dropped += more.dropped;
    for (const RowProblem &p : decoded.problems) builder_.problem(p.kind, p.offset, p.message);
    for (const EventRow &row : decoded.rows) {
        switch (row.kind) {
        case RowKind::Slice: {
            CompleteEvent event{row.category, row.name, row.ts, row.dur, trackOf(row), row.correlation, row.external_id,
                                row.args_offset, row.args_length};
            if (row.category == Category::Kernel) {
                KernelDetail detail = row.kernel;
                if (detail.device < 0) detail.device = builder_.meta().tracks[event.track.index()].device;
                if (detail.stream < 0) detail.stream = row.tid;
                builder_.add(event, detail);
            } else if (isGpuWork(row.category)) {
                builder_.add(event, CopyDetail{row.kernel.device, row.kernel.stream, row.bytes});
            } else if (row.category == Category::CpuOp) {
                builder_.add(event, row.op);
            } else {
                builder_.add(event);
            }
            break;
        }
        case RowKind::ProcessName: processes_[numberOf(row.pid, row.pid_text)] = row.label; break;
        case RowKind::ThreadName:
            threads_[{numberOf(row.pid, row.pid_text), numberOf(row.tid, row.tid_text)}].name = row.label;
            break;
        case RowKind::SortIndex:
            threads_[{numberOf(row.pid, row.pid_text), numberOf(row.tid, row.tid_text)}].sort_index = row.sort_index;
            break;
        default: break;
        }
    }
}

void Importer::header(std::string_view key, std::string_view text) {
    TraceStore &meta = builder_.meta();
    const auto flag = [&] { return text == "1" || text == "true"; };
    if (key == "baseTimeNanoseconds") {
        std::from_chars(text.data(), text.data() + text.size(), meta.base_time_ns);
    } else if (key == "with_stack") {
        meta.with_stack = flag();
    } else if (key == "record_shapes") {
        meta.record_shapes = flag();
    } else if (key == "deviceProperties") {
        simdjson::dom::parser parser;
        simdjson::dom::array devices;
        const simdjson::padded_string padded(text);
        if (parser.parse(padded).get(devices) != simdjson::SUCCESS) {
            builder_.problem("device_properties", 0, "deviceProperties is not valid JSON; the GPU is not known from the trace");
            return;
        }
        for (const auto entry : devices) {
            if (meta.devices.size() >= 1024) break;
            const auto number = [&](const char *name) {
                std::int64_t n = 0;
                return entry[name].get(n) == simdjson::SUCCESS ? n : 0;
            };
            TraceDevice device;
            std::string_view name;
            if (entry["name"].get(name) == simdjson::SUCCESS) device.name = name;
            device.id = static_cast<std::int32_t>(number("id"));
            device.compute_major = static_cast<std::int32_t>(number("computeMajor"));
            device.compute_minor = static_cast<std::int32_t>(number("computeMinor"));
            device.sms = static_cast<std::int32_t>(number("numSms"));
            device.memory_bytes = static_cast<std::uint64_t>(number("totalGlobalMem"));
            meta.devices.push_back(std::move(device));
        }
    }
}

void Importer::finish() {
    TraceStore &store = builder_.meta();
    for (std::size_t t = 0; t < store.tracks.size(); ++t) {
        Track &track = store.tracks[t];
        const auto it = threads_.find({track.pid, track.tid});
        std::string name = it != threads_.end() ? it->second.name : "";
        if (it != threads_.end()) track.sort_index = it->second.sort_index;
        while (!name.empty() && name.back() == ' ') name.pop_back();
        if (name.empty() && track.tid >= 0) name = (track.kind == TrackKind::GpuStream ? "stream " : "thread ") + std::to_string(track.tid);
        builder_.nameTrack(TrackId(t), name);
    }
}

Category categoryOf(std::string_view text) noexcept {
    struct Name { std::string_view text; Category category; };
    static constexpr Name kNames[] = {
        {"cpu_op", Category::CpuOp}, {"python_function", Category::PythonFunction}, {"kernel", Category::Kernel},
        {"cuda_runtime", Category::CudaRuntime}, {"cuda_driver", Category::CudaDriver}, {"gpu_memset", Category::GpuMemset},
        {"gpu_memcpy", Category::GpuMemcpy}, {"user_annotation", Category::UserAnnotation},
        {"gpu_user_annotation", Category::GpuUserAnnotation}, {"overhead", Category::Overhead}, {"cuda_sync", Category::CudaSync},
        {"cuda_event", Category::CudaEvent}, {"Trace", Category::TraceSpan},
        // Before 2021.
        {"Operator", Category::CpuOp}, {"Kernel", Category::Kernel}, {"Runtime", Category::CudaRuntime},
        {"Memcpy", Category::GpuMemcpy}, {"Memset", Category::GpuMemset},
    };
    for (const Name &name : kNames)
        if (name.text == text) return name.category;
    return Category::Other;
}

} // namespace fusescope::chrome
