// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_builder.h"

#include "core/base/format.h"
#include "core/trace/finish.h"

#include <limits>
#include <tuple>
#include <unordered_map>

namespace fusescope {
namespace {

struct TrackKey {
    TrackKind kind;
    std::int64_t pid, tid, stream;
    std::int32_t device;
    friend bool operator==(const TrackKey&, const TrackKey&) = default;
};
struct TrackHash {
    std::size_t operator()(const TrackKey& k) const noexcept {
        std::uint64_t h = static_cast<std::uint64_t>(k.kind);
        for (const std::int64_t part : {k.pid, k.tid, k.stream, static_cast<std::int64_t>(k.device)})
            h = (h ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15ULL + (h >> 29U);
        return static_cast<std::size_t>(h);
    }
};

} // namespace

struct TraceBuilder::Impl {
    TraceLimits limits;
    std::shared_ptr<TraceStore> store = std::make_shared<TraceStore>();
    std::unordered_map<TrackKey, TrackId, TrackHash> tracks;
    std::unordered_map<std::string, std::size_t> problems;

    std::uint32_t append(const PooledEvent& e, std::uint32_t detail) {
        SliceTable& s = store->slices;
        const auto row = static_cast<std::uint32_t>(s.size());
        s.ts.push_back(e.ts);
        s.dur.push_back(e.dur);
        s.name.push_back(e.name);
        s.category.push_back(e.category);
        s.track.push_back(e.track);
        s.correlation.push_back(e.correlation);
        s.external_id.push_back(e.external_id);
        s.detail.push_back(detail);
        s.args_offset.push_back(e.args_offset);
        s.args_length.push_back(e.args_length);
        return row;
    }
    PooledEvent pooled(const CompleteEvent& e) {
        return {e.category,    store->strings.intern(e.name),
                e.ts,          e.dur,
                e.track,       e.correlation,
                e.external_id, e.args_offset,
                e.args_length};
    }
};

TraceBuilder::TraceBuilder(const TraceLimits& limits) : impl_(std::make_unique<Impl>()) { impl_->limits = limits; }
TraceBuilder::~TraceBuilder() = default;

TrackId TraceBuilder::track(TrackKind kind, std::int64_t pid, std::int64_t tid, std::int32_t device,
                            std::int64_t stream) {
    const auto [it, fresh] =
        impl_->tracks.try_emplace(TrackKey{kind, pid, tid, stream, device}, TrackId(impl_->store->tracks.size()));
    if (fresh) {
        Track track;
        track.kind = kind;
        track.pid = pid;
        track.tid = tid;
        track.device = device;
        track.stream = stream;
        impl_->store->tracks.push_back(track);
    }
    return it->second;
}

void TraceBuilder::nameTrack(TrackId track, std::string_view name) {
    impl_->store->tracks[track.index()].name = impl_->store->strings.intern(name);
}
void TraceBuilder::sortTrack(TrackId track, std::int64_t sort_index) {
    impl_->store->tracks[track.index()].sort_index = sort_index;
}

void TraceBuilder::add(const CompleteEvent& event) { add(impl_->pooled(event)); }
void TraceBuilder::add(const CompleteEvent& event, const KernelDetail& detail) { add(impl_->pooled(event), detail); }
void TraceBuilder::add(const CompleteEvent& event, const CopyDetail& detail) { add(impl_->pooled(event), detail); }
void TraceBuilder::add(const CompleteEvent& event, const CpuOpDetail& d) {
    StringPool& strings = impl_->store->strings;
    const auto text = [&](std::string_view raw) { return raw.empty() ? StringId{} : strings.intern(raw); };
    add(impl_->pooled(event),
        PooledOpDetail{d.sequence, d.fwd_thread, text(d.dims), text(d.types), text(d.strides), text(d.concrete)});
}

void TraceBuilder::add(const PooledEvent& event) { impl_->append(event, Id<struct DetailTag>::kNone); }

void TraceBuilder::add(const PooledEvent& event, const KernelDetail& d) {
    KernelTable& k = impl_->store->kernels;
    k.slice.push_back(SliceId(impl_->append(event, static_cast<std::uint32_t>(k.size()))));
    k.device.push_back(d.device);
    k.stream.push_back(d.stream);
    k.grid.push_back(d.grid);
    k.block.push_back(d.block);
    k.registers.push_back(d.registers);
    k.shared_bytes.push_back(d.shared_bytes);
    k.occupancy.push_back(d.occupancy);
    k.graph_id.push_back(d.graph_id);
    k.graph_node.push_back(d.graph_node);
}

void TraceBuilder::add(const PooledEvent& event, const CopyDetail& d) {
    CopyTable& c = impl_->store->copies;
    c.slice.push_back(SliceId(impl_->append(event, static_cast<std::uint32_t>(c.size()))));
    c.device.push_back(d.device);
    c.stream.push_back(d.stream);
    c.bytes.push_back(d.bytes);
}

void TraceBuilder::add(const PooledEvent& event, const PooledOpDetail& d) {
    CpuOpTable& o = impl_->store->cpu_ops;
    o.slice.push_back(SliceId(impl_->append(event, static_cast<std::uint32_t>(o.size()))));
    o.sequence.push_back(d.sequence);
    o.fwd_thread.push_back(d.fwd_thread);
    o.dims.push_back(d.dims);
    o.types.push_back(d.types);
    o.strides.push_back(d.strides);
    o.concrete.push_back(d.concrete);
}

void TraceBuilder::problem(std::string_view kind, std::uint64_t offset, std::string_view message, std::uint64_t count) {
    const auto [it, fresh] = impl_->problems.try_emplace(std::string(kind), impl_->store->problems.size());
    if (fresh) impl_->store->problems.push_back({std::string(kind), 0, offset, std::string(message)});
    impl_->store->problems[it->second].count += count;
}

bool TraceBuilder::full() const {
    const TraceStore& store = *impl_->store;
    const TraceLimits& limits = impl_->limits;
    return store.slices.size() >= limits.slices || store.tracks.size() >= limits.tracks ||
           store.strings.bytes() >= limits.text_bytes;
}

std::string TraceBuilder::fullSentence() const {
    const TraceLimits& limits = impl_->limits;
    return "the file holds more than " + formatCount(static_cast<std::int64_t>(limits.slices)) + " slices, " +
           formatCount(static_cast<std::int64_t>(limits.tracks)) + " threads and streams or " +
           formatBytes(static_cast<double>(limits.text_bytes)) +
           " of different names; what stands before that was read, the rest is left out";
}

TraceStore& TraceBuilder::meta() { return *impl_->store; }

Result<TracePtr> TraceBuilder::finish() && {
    TraceStore& store = *impl_->store;
    if (store.slices.size() >= Id<struct SliceTag>::kNone)
        return Error{ErrorCode::Limit, "fewer than 4,294,967,295 events", "more", store.path};
    clampDurations(store, *this);
    sortSlices(store);
    nestSlices(store);
    findLaunches(store, *this);
    listSteps(store, *this);
    tellProcesses(store);
    assignSteps(store, *this);
    tellKindsOfGpu(store, *this);
    return TracePtr(std::move(impl_->store));
}

} // namespace fusescope
