// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusescope {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A trace with so many kernels on each device, which have these names.
TracePtr traceOf(const std::vector<std::pair<std::string, int>>& devices) {
    TraceBuilder builder;
    for (std::int32_t id = 0; id < static_cast<std::int32_t>(devices.size()); ++id) {
        const auto& [name, kernels] = devices[static_cast<std::size_t>(id)];
        builder.meta().devices.push_back({id, name, 9, 0, 132, 0});
        const TrackId stream = builder.track(TrackKind::GpuStream, id, 7);
        for (int k = 0; k < kernels; ++k) {
            CompleteEvent e;
            e.category = Category::Kernel;
            e.name = "gemm";
            e.ts = k * 100;
            e.dur = 10;
            e.track = stream;
            KernelDetail detail;
            detail.device = id;
            builder.add(e, detail);
        }
    }
    auto built = std::move(builder).finish();
    return built.ok() ? *std::move(built) : nullptr;
}

TEST(KindsOfGpu, SeveralAreTold) {
    const TracePtr trace = traceOf({{"NVIDIA A100", 2}, {"NVIDIA H200", 3}, {"NVIDIA A100", 2}, {"NVIDIA L4", 0}});
    ASSERT_TRUE(trace);
    ASSERT_THAT(trace->problems, SizeIs(1));
    EXPECT_EQ(trace->problems[0].kind, "several_kinds_of_gpu");
    EXPECT_EQ(trace->problems[0].count, 4U); // kernels whose GPU's peaks are not shown
    EXPECT_THAT(trace->problems[0].message, HasSubstr("NVIDIA A100 (4 kernels), NVIDIA H200 (3 kernels)"));
    EXPECT_THAT(trace->problems[0].message, HasSubstr("are those of NVIDIA H200, the GPU with the most kernels"));
}

TEST(KindsOfGpu, SeveralOfOneKindAreNone) {
    const TracePtr trace = traceOf({{"NVIDIA H200", 3}, {"NVIDIA H200", 3}, {"NVIDIA A100", 0}});
    ASSERT_TRUE(trace);
    EXPECT_THAT(trace->problems, IsEmpty());
}

} // namespace
} // namespace fusescope
