// SPDX-License-Identifier: Apache-2.0
// Traces of several processes, made row by row.
#pragma once

#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace fusescope::test {

inline constexpr std::int64_t kUs = 1000;

// Rows may come in any order; a row's place in the file is its args_offset.
class Ranks {
public:
    struct At {
        std::int64_t us = 0;
        std::uint32_t id = 0;
        std::uint64_t offset = 0;
    };
    void launch(std::int64_t pid, At at) { host(Category::CudaRuntime, "cudaLaunchKernel", pid, at, 5); }
    void host(Category category, std::string_view name, std::int64_t pid, At at, std::int64_t us) {
        const TrackId track = builder.track(TrackKind::CpuThread, pid, 1);
        builder.add({category, name, at.us * kUs, us * kUs, track, at.id, 0, at.offset, 1});
    }
    void kernel(std::int64_t gpu, At at) {
        KernelDetail detail;
        detail.device = static_cast<std::int32_t>(gpu);
        detail.stream = 7;
        const TrackId track = builder.track(TrackKind::GpuStream, gpu, 7, detail.device, 7);
        builder.add({Category::Kernel, "k", at.us * kUs, 2 * kUs, track, at.id, 0, at.offset, 1}, detail);
    }
    TracePtr finish() {
        auto trace = std::move(builder).finish();
        EXPECT_TRUE(trace.ok());
        return *trace;
    }
    TraceBuilder builder;
};

// pid of the launch of each kernel, in time order; -1 without one.
inline std::vector<std::int64_t> launchedBy(const TraceStore& t) {
    std::vector<std::int64_t> pids;
    for (const SliceId kernel : t.kernels.slice) {
        const SliceId launch = t.slices.launch[kernel.index()];
        pids.push_back(launch.valid() ? t.tracks[t.slices.track[launch.index()].index()].pid : -1);
    }
    return pids;
}

inline std::uint64_t problems(const TraceStore& t, std::string_view kind) {
    for (const Problem& problem : t.problems)
        if (problem.kind == kind) return problem.count;
    return 0;
}

using Pids = std::vector<std::int64_t>;

} // namespace fusescope::test
