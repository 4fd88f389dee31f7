// SPDX-License-Identifier: Apache-2.0
// The trace in columns. Immutable after TraceBuilder::finish(), shared as shared_ptr<const TraceStore>, read without
// locks from any thread. Slices are sorted by (ts, -dur, file order). Times are int64 ns on the trace's own clock.
#pragma once

#include "core/base/ids.h"
#include "core/base/string_pool.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class Category : std::uint8_t {
    CpuOp,
    UserAnnotation,
    GpuUserAnnotation,
    Kernel,
    GpuMemcpy,
    GpuMemset,
    CudaRuntime,
    CudaDriver,
    PythonFunction,
    Overhead,
    CudaSync,
    CudaEvent,
    TraceSpan,
    Other,
};
[[nodiscard]] std::string_view nameOf(Category category) noexcept; // Kineto's text: "cpu_op", "kernel" ...
// Runs on the GPU and counts as GPU time: kernel, memcpy, memset (never annotations or sync rows).
[[nodiscard]] constexpr bool isGpuWork(Category c) noexcept {
    return c == Category::Kernel || c == Category::GpuMemcpy || c == Category::GpuMemset;
}

enum class TrackKind : std::uint8_t { CpuThread, GpuStream, GpuAnnotation, Span, Other };

inline constexpr std::int64_t kNoProcess = std::numeric_limits<std::int64_t>::min(); // not known, or several

struct Track {
    TrackKind kind = TrackKind::Other;
    std::int64_t pid = 0, tid = 0;     // as in the file; words get numbers far below any real one
    std::int32_t device = -1;          // GPU tracks
    std::int64_t stream = -1;          // GPU tracks
    std::int64_t process = kNoProcess; // pid of the host process: of GPU tracks the one that launched all of their work
    StringId name;                     // "thread 415 (python3)", "stream 7"
    std::int64_t sort_index = 0;
    std::uint32_t slices = 0;
    std::uint16_t depths = 0; // rows needed to draw it
};

struct SliceTable { // one row per complete event
    std::vector<std::int64_t> ts, dur;
    std::vector<StringId> name;
    std::vector<Category> category;
    std::vector<TrackId> track;
    std::vector<std::uint16_t> depth;       // 0 = outermost on its track
    std::vector<SliceId> parent;            // innermost enclosing slice of the same track
    std::vector<std::uint32_t> correlation; // 0 = none
    std::vector<SliceId> launch;            // GPU work: the host row that launched it, invalid = not in the file
    std::vector<std::uint32_t> external_id; // 0 = none
    std::vector<std::int16_t> step;         // index into TraceStore::steps, -1 = outside; GPU work by its launch
    std::vector<std::uint32_t> detail;      // row of the side table for its category, Id::kNone = none
    std::vector<std::uint64_t> args_offset; // byte range of "args" in the (inflated) JSON text
    std::vector<std::uint32_t> args_length; // 0 = no args
    [[nodiscard]] std::size_t size() const noexcept { return ts.size(); }
};

struct KernelTable {
    std::vector<SliceId> slice;
    std::vector<std::int32_t> device;
    std::vector<std::int64_t> stream;
    std::vector<std::array<std::uint32_t, 3>> grid, block;
    std::vector<std::uint16_t> registers;            // per thread
    std::vector<std::uint32_t> shared_bytes;         // static + dynamic, per block
    std::vector<std::int16_t> occupancy;             // "est. achieved occupancy %", -1 = not recorded
    std::vector<std::uint32_t> graph_id, graph_node; // CUDA graph; 0 = launched directly
    [[nodiscard]] std::size_t size() const noexcept { return slice.size(); }
};

struct CopyTable { // gpu_memcpy and gpu_memset
    std::vector<SliceId> slice;
    std::vector<std::int32_t> device;
    std::vector<std::int64_t> stream;
    std::vector<std::uint64_t> bytes;
    [[nodiscard]] std::size_t size() const noexcept { return slice.size(); }
};

struct CpuOpTable { // args as raw JSON text, interned (layers repeat it): parse with parseOpArgs()
    std::vector<SliceId> slice;
    std::vector<std::int64_t> sequence;   // autograd sequence number, -1 = none
    std::vector<std::int64_t> fwd_thread; // "Fwd thread id" (profiler numbering), 0 = none: >0 marks backward
    std::vector<StringId> dims, types, strides, concrete; // invalid = not recorded
    [[nodiscard]] std::size_t size() const noexcept { return slice.size(); }
};

struct Step {         // one ProfilerStep#n of one process
    std::string name; // where several processes have steps, with the process: "ProfilerStep#4 of rank 1"
    std::int64_t number = -1;
    std::int64_t pid = 0;            // of the process
    SliceId slice;                   // the CPU annotation
    std::int64_t begin = 0, end = 0; // CPU range, ns
};

struct TraceDevice { // one entry of deviceProperties
    std::int32_t id = 0;
    std::string name;
    std::int32_t compute_major = 0, compute_minor = 0, sms = 0;
    std::uint64_t memory_bytes = 0;
};

struct Problem {      // one kind of damage or oddity; nothing is dropped silently
    std::string kind; // "truncated", "bad_event", "negative_duration" ...
    std::uint64_t count = 0;
    std::uint64_t first_offset = 0; // byte offset in the (inflated) text
    std::string message;            // one sentence for the user
};

struct EventCounts {
    std::uint64_t total = 0, complete = 0, instant = 0, flow = 0, metadata = 0, counter = 0, other = 0, dropped = 0;
};

struct TraceStore {
    SliceTable slices;
    KernelTable kernels; // in (ts, file order)
    CopyTable copies;
    CpuOpTable cpu_ops;
    std::vector<Track> tracks;
    std::vector<Step> steps;
    // By pid, once the trace is finished all different: as the file calls it, or "process 415".
    std::map<std::int64_t, std::string> process_names;
    bool several_processes = false; // launch GPU work or have steps: merged ranks
    std::vector<TraceDevice> devices;
    std::vector<Problem> problems;
    EventCounts counts;
    StringPool strings;

    std::string path;
    std::uint64_t file_bytes = 0, json_bytes = 0; // on disk; after inflating
    std::int64_t file_written_at = 0;             // when the file was last written to, ns since 1970; 0: no file
    bool compressed = false;
    std::int64_t base_time_ns = 0;   // baseTimeNanoseconds: absolute = base + ts
    std::int64_t begin = 0, end = 0; // over timed slices (untimed ts 0 rows excluded)
    bool with_stack = false, record_shapes = false;

    [[nodiscard]] std::string_view nameOf(SliceId id) const noexcept { return strings.view(slices.name[id.index()]); }
    [[nodiscard]] std::int64_t endOf(SliceId id) const noexcept {
        return slices.ts[id.index()] + slices.dur[id.index()];
    }
    [[nodiscard]] std::size_t bytes() const noexcept; // heap bytes held
};

using TracePtr = std::shared_ptr<const TraceStore>;

} // namespace fusescope
