// SPDX-License-Identifier: Apache-2.0
// The only writer of a TraceStore. Readers of every format push rows; finish() sorts, nests, assigns steps and freezes.
#pragma once

#include "core/base/result.h"
#include "core/trace/trace_store.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace fusescope {

struct CompleteEvent { // one complete ("X") event, text still as views
    Category category = Category::Other;
    std::string_view name;
    std::int64_t ts = 0, dur = 0;
    TrackId track;
    std::uint32_t correlation = 0, external_id = 0;
    std::uint64_t args_offset = 0;
    std::uint32_t args_length = 0;
};
struct KernelDetail {
    std::int32_t device = -1;
    std::int64_t stream = -1;
    std::array<std::uint32_t, 3> grid{}, block{};
    std::uint16_t registers = 0;
    std::uint32_t shared_bytes = 0;
    std::int16_t occupancy = -1;
    std::uint32_t graph_id = 0, graph_node = 0;
};
struct CopyDetail {
    std::int32_t device = -1;
    std::int64_t stream = -1;
    std::uint64_t bytes = 0;
};
struct CpuOpDetail {
    std::int64_t sequence = -1, fwd_thread = 0;
    std::string_view dims, types, strides, concrete; // raw JSON text; empty = not recorded
};

// The same with text that is in meta().strings already: the way of readers that intern many rows at once.
struct PooledEvent {
    Category category = Category::Other;
    StringId name;
    std::int64_t ts = 0, dur = 0;
    TrackId track;
    std::uint32_t correlation = 0, external_id = 0;
    std::uint64_t args_offset = 0;
    std::uint32_t args_length = 0;
};
struct PooledOpDetail {
    std::int64_t sequence = -1, fwd_thread = 0;
    StringId dims, types, strides, concrete;
};

// What one trace may hold. A slice costs about 330 bytes until it is analysed, so that these are some 4 GB; the largest
// traces that people open (5 GB of JSON) stay below them, and a few megabytes of gzip that unpack to more do not.
struct TraceLimits {
    std::size_t slices = 12'000'000;
    std::size_t text_bytes = std::size_t{2} << 30; // of distinct names and arguments
    std::size_t tracks = std::size_t{1} << 20;     // threads and streams
};

class TraceBuilder {
public:
    explicit TraceBuilder(const TraceLimits& limits = {});
    ~TraceBuilder();

    // Finds or makes the track of a host thread, a GPU stream ...; pid/tid as in the file.
    TrackId track(TrackKind kind, std::int64_t pid, std::int64_t tid, std::int32_t device = -1,
                  std::int64_t stream = -1);
    void nameTrack(TrackId track, std::string_view name);
    void sortTrack(TrackId track, std::int64_t sort_index);

    void add(const CompleteEvent& event);
    void add(const CompleteEvent& event, const KernelDetail& detail);
    void add(const CompleteEvent& event, const CopyDetail& detail);
    void add(const CompleteEvent& event, const CpuOpDetail& detail);
    void add(const PooledEvent& event);
    void add(const PooledEvent& event, const KernelDetail& detail);
    void add(const PooledEvent& event, const CopyDetail& detail);
    void add(const PooledEvent& event, const PooledOpDetail& detail);

    // Counts more of a kind; the first call for a kind fixes offset and sentence.
    void problem(std::string_view kind, std::uint64_t offset, std::string_view message, std::uint64_t count = 1);
    // A limit is reached: what the reader still has in hand may be added, then it should stop and say fullSentence().
    [[nodiscard]] bool full() const;
    [[nodiscard]] std::string fullSentence() const;
    // Scalars of the store that readers fill directly (path, devices, counts, base time, flags).
    TraceStore& meta();

    [[nodiscard]] Result<TracePtr> finish() &&;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace fusescope
