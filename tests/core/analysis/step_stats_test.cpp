// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/step_stats.h"

#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

// Two steps of 100 us on the CPU; the GPU works behind: step 1's kernel ends after step 2 began on the CPU.
TracePtr twoSteps() {
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    builder.add({Category::UserAnnotation, "ProfilerStep#1", 0, 100'000, cpu, 0, 0, 0, 0});
    builder.add({Category::UserAnnotation, "ProfilerStep#2", 100'000, 100'000, cpu, 0, 0, 0, 0});
    builder.add({Category::CudaRuntime, "cudaLaunchKernel", 10'000, 5'000, cpu, 11, 0, 0, 0});
    builder.add({Category::CudaRuntime, "cudaLaunchKernel", 20'000, 5'000, cpu, 12, 0, 0, 0});
    builder.add({Category::CudaRuntime, "cudaDeviceGetAttribute", 30'000, 1'000, cpu, 13, 0, 0, 0}); // launches nothing
    builder.add({Category::CudaRuntime, "cudaLaunchKernel", 110'000, 5'000, cpu, 14, 0, 0, 0});
    KernelDetail detail;
    detail.device = 0;
    detail.stream = 7;
    builder.add({Category::Kernel, "a", 40'000, 30'000, gpu, 11, 0, 0, 0}, detail);
    builder.add({Category::Kernel, "b", 80'000, 40'000, gpu, 12, 0, 0, 0}, detail);
    builder.add({Category::Kernel, "c", 150'000, 80'000, gpu, 14, 0, 0, 0}, detail);
    auto trace = std::move(builder).finish();
    EXPECT_TRUE(trace.ok());
    return *trace;
}

TEST(StepStats, GpuWorkBelongsToTheStepThatLaunchedIt) {
    const TracePtr trace = twoSteps();
    const auto steps = stepStats(*trace);
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_EQ(steps[0].kernels, 2U);
    EXPECT_EQ(steps[0].launches, 2U);
    EXPECT_EQ(steps[1].kernels, 1U);
    EXPECT_DOUBLE_EQ(steps[0].kernel_ns, 70'000);
}

TEST(StepStats, AStepRunsToTheFirstGpuWorkOfTheNext) {
    const TracePtr trace = twoSteps();
    const auto steps = stepStats(*trace);
    EXPECT_EQ(steps[0].begin, 40'000);
    EXPECT_EQ(steps[0].end, 150'000);
    EXPECT_DOUBLE_EQ(steps[0].wall_ns, 110'000);
    EXPECT_DOUBLE_EQ(steps[0].gpu_busy_ns, 70'000);
    EXPECT_DOUBLE_EQ(steps[0].gpu_idle_ns, 40'000);
    EXPECT_EQ(steps[1].end, 230'000); // the last one to the end of its GPU work, past its annotation
    EXPECT_DOUBLE_EQ(steps[1].gpu_busy_ns, 80'000);
}

TEST(StepStats, WithoutStepsTheWholeTraceIsOne) {
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    KernelDetail detail;
    detail.device = 0;
    builder.add({Category::Kernel, "a", 1'000, 30, gpu, 1, 0, 0, 0}, detail);
    builder.add({Category::Kernel, "b", 1'010, 30, gpu, 2, 0, 0, 0}, detail); // overlaps the first by 20 ns
    auto trace = std::move(builder).finish();
    ASSERT_TRUE(trace.ok());
    const auto steps = stepStats(**trace);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps[0].name, "all");
    EXPECT_EQ(steps[0].kernels, 2U);
    EXPECT_DOUBLE_EQ(steps[0].kernel_ns, 60);
    EXPECT_DOUBLE_EQ(steps[0].gpu_busy_ns, 40); // a union, not a sum
    EXPECT_DOUBLE_EQ(steps[0].wall_ns, 40);
}

// One step of 100 us: ten kernels of 1 us, 10 us apart. early: all are launched before the first of them runs.
TracePtr sparseStep(bool early) {
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    builder.add({Category::UserAnnotation, "ProfilerStep#1", 0, 100'000, cpu, 0, 0, 0, 0});
    KernelDetail detail;
    detail.device = 0;
    detail.stream = 7;
    for (std::uint32_t i = 0; i < 10; ++i) {
        const std::int64_t at = i * 10'000;
        const std::int64_t launch = early ? i * 400 : at;
        builder.add({Category::CudaRuntime, "cudaLaunchKernel", launch, early ? 300 : 4'000, cpu, 11 + i, 0, 0, 0});
        builder.add({Category::Kernel, "k", at + 5'000, 1'000, gpu, 11 + i, 0, 0, 0}, detail);
    }
    auto trace = std::move(builder).finish();
    EXPECT_TRUE(trace.ok());
    return *trace;
}

// The step runs from 5 to 100 us: busy 10, idle 85. Nine gaps of 9 us, each 8 us long until the launch has been made.
TEST(StepStats, BoundByLaunches) {
    const StepStats late = stepStats(*sparseStep(false)).front();
    EXPECT_DOUBLE_EQ(late.wall_ns, 95'000);
    EXPECT_DOUBLE_EQ(late.gpu_idle_ns, 85'000);
    EXPECT_DOUBLE_EQ(late.launch_wait_ns, 72'000);
    EXPECT_EQ(late.bound, StepBound::Launches);
}

TEST(StepStats, IdleThoughAllWasLaunched) {
    const StepStats early = stepStats(*sparseStep(true)).front();
    EXPECT_DOUBLE_EQ(early.gpu_idle_ns, 85'000);
    EXPECT_DOUBLE_EQ(early.launch_wait_ns, 0);
    EXPECT_EQ(early.bound, StepBound::Idle);
}

TEST(StepStats, ABusyGpuIsBoundByItsKernels) {
    const auto steps = stepStats(*twoSteps());
    EXPECT_EQ(steps[0].bound, StepBound::Idle);    // 40 of 110 us idle, 36%
    EXPECT_EQ(steps[1].bound, StepBound::Kernels); // never idle
    EXPECT_EQ(stepStats(TraceStore{}).front().bound, StepBound::Unknown);
}

} // namespace
} // namespace fusescope
