// SPDX-License-Identifier: Apache-2.0
// Whose launch a kernel's is, where several processes (merged ranks) give out the same correlation ids.
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fusescope {
namespace {

constexpr std::int64_t kUs = 1000;

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
std::vector<std::int64_t> launchedBy(const TraceStore& t) {
    std::vector<std::int64_t> pids;
    for (const SliceId kernel : t.kernels.slice) {
        const SliceId launch = t.slices.launch[kernel.index()];
        pids.push_back(launch.valid() ? t.tracks[t.slices.track[launch.index()].index()].pid : -1);
    }
    return pids;
}

std::uint64_t problems(const TraceStore& t, std::string_view kind) {
    for (const Problem& problem : t.problems)
        if (problem.kind == kind) return problem.count;
    return 0;
}

using Pids = std::vector<std::int64_t>;

TEST(Launches, OneProcessIsLinkedById) {
    Ranks r;
    r.launch(100, {10, 1});
    r.launch(100, {20, 2});
    r.host(Category::CudaRuntime, "cudaDeviceSynchronize", 100, {30, 3}, 90);
    r.kernel(0, {40, 1});
    r.kernel(0, {50, 2});
    r.kernel(0, {60, 9}); // launched before the recording began
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 100, -1}));
    EXPECT_EQ(t->slices.ts[t->slices.launch[t->kernels.slice[1].index()].index()], 20 * kUs);
    EXPECT_TRUE(t->problems.empty());
    EXPECT_FALSE(t->several_processes);
}

TEST(Launches, IdsFarApartAreFoundToo) {
    Ranks r;
    r.launch(100, {10, 5});
    r.launch(200, {11, 4'000'000'000U});
    r.launch(100, {12, 4'000'000'000U});
    r.launch(100, {20, 70'000});
    r.kernel(0, {40, 70'000});
    r.kernel(0, {50, 5});
    r.kernel(0, {60, 4'000'000'000U});
    r.kernel(0, {70, 6});
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 100, 100, -1}));
    EXPECT_TRUE(t->problems.empty());
}

TEST(Launches, IdsThatOneProcessAloneHasTellWhoseTheTrackIs) {
    Ranks r; // no place in the file, and both ranks' launches precede all work: only id 2 and id 3 tell
    for (const std::int64_t pid : {100, 200}) r.launch(pid, {pid / 100, 1});
    r.launch(100, {10, 2});
    r.launch(200, {11, 3});
    r.kernel(0, {50, 1});
    r.kernel(0, {60, 2});
    r.kernel(1, {51, 1});
    r.kernel(1, {61, 3});
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 200, 100, 200})); // by time: GPU 0, 1, 0, 1
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
    EXPECT_TRUE(t->several_processes);
}

TEST(Launches, WorkOfAnOwnedTrackIsNeverAnotherRanks) {
    Ranks r;
    for (std::uint32_t id = 1; id <= 20; ++id) r.launch(100, {id, id});
    r.launch(200, {5, 30}); // 100 had its id 30 before the recording
    r.kernel(1, {70, 30});
    for (std::uint32_t id = 1; id <= 20; ++id) r.kernel(0, {100 + id, id});
    r.kernel(0, {130, 30});
    const TracePtr t = r.finish();
    Pids expected{200};
    expected.insert(expected.end(), 20, 100);
    expected.push_back(-1);
    EXPECT_EQ(launchedBy(*t), expected);
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, PlacesInTheFileTellRanksOnOneTrackApart) { // one file behind the other, the same GPU number in both
    Ranks r;
    for (const std::int64_t rank : {1, 2}) {
        const auto base = static_cast<std::uint64_t>(rank) * 10'000;
        r.host(Category::CpuOp, "aten::mm", rank * 100, {0, 0, base}, 200);
        for (std::uint32_t id = 1; id <= 5; ++id) {
            r.kernel(0, {100 + 10 * id + rank, id, base + id});          // before its launch in the file
            r.launch(rank * 100, {10 * id + rank, id, base + 100 + id}); // of both, before the other's kernel
        }
    }
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 200, 100, 200, 100, 200, 100, 200, 100, 200}));
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, TimesTellWhereNothingElseDoes) { // sorted by time, every id in both ranks, rank 200 is 3 us later
    Ranks r;
    for (std::uint32_t id = 1; id <= 50; ++id) {
        const std::int64_t at = 100 * id;
        r.launch(100, {at, id});
        r.launch(200, {at + 3, id});
        const std::int64_t wait = id % 5 == 0 ? 2 : 40; // the GPU mostly has work before it
        r.kernel(0, {at + wait, id});
        r.kernel(1, {at + 3 + wait, id});
    }
    const TracePtr t = r.finish();
    for (std::size_t k = 0; k < t->kernels.size(); ++k) {
        const Pids pids = launchedBy(*t);
        EXPECT_EQ(pids[k], t->kernels.device[k] == 0 ? 100 : 200) << k;
    }
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, WhatCannotBeToldApartIsSaid) {
    Ranks r; // one GPU track, one id, no place in the file
    r.launch(100, {10, 1});
    r.launch(200, {11, 1});
    r.kernel(0, {50, 1});
    r.kernel(0, {60, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{200, 200}));
    EXPECT_EQ(problems(*t, "reused_correlation"), 2U);
}

TEST(Launches, OneProcessThatSeemsToGiveAnIdTwiceIsSaid) { // two containers, both with pid 1
    Ranks r;
    r.launch(1, {10, 1});
    r.launch(1, {30, 1});
    r.kernel(0, {50, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(problems(*t, "reused_correlation"), 1U);
}

TEST(Launches, ACallInACallIsOneLaunch) { // the runtime's and the driver's with one id
    Ranks r;
    r.host(Category::CudaRuntime, "cudaLaunchKernel", 1, {10, 1}, 9);
    r.host(Category::CudaDriver, "cuLaunchKernel", 1, {12, 1}, 3);
    r.kernel(0, {50, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(t->slices.category[t->slices.launch[t->kernels.slice[0].index()].index()], Category::CudaDriver);
    EXPECT_TRUE(t->problems.empty());
}

TEST(Launches, WorkLongBeforeItsLaunchIsSaid) {
    Ranks r;
    r.launch(1, {10, 1});
    r.kernel(0, {9, 1}); // a clock read: fine
    r.launch(1, {5'000'000, 2});
    r.kernel(0, {20, 2}); // seconds
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{1, 1}));
    EXPECT_EQ(problems(*t, "before_its_launch"), 1U);
}

TEST(Launches, ManyProcessesAndIdsStayBounded) { // 600 processes, one id
    Ranks r;
    for (std::int64_t pid = 1; pid <= 600; ++pid)
        for (int i = 0; i < 40; ++i) r.launch(pid, {pid + i, 1});
    for (int i = 0; i < 3000; ++i) r.kernel(0, {10'000 + i, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(problems(*t, "reused_correlation"), 3000U);
}

TEST(Launches, EveryProcessHasItsOwnSteps) {
    Ranks r;
    r.host(Category::UserAnnotation, "ProfilerStep#1", 100, {0, 0, 1}, 100);
    r.host(Category::UserAnnotation, "ProfilerStep#1", 200, {50, 0, 1001}, 100); // while that of 100 runs
    r.host(Category::UserAnnotation, "ProfilerStep#2", 100, {100, 0, 2}, 100);
    r.launch(100, {60, 1, 3});
    r.launch(200, {60, 1, 1002});
    r.launch(200, {120, 2, 1003});
    r.launch(100, {120, 2, 4});
    r.kernel(0, {210, 1, 5});
    r.kernel(1, {210, 1, 1005});
    r.kernel(1, {220, 2, 1006});
    r.kernel(0, {220, 2, 6});
    r.kernel(0, {230, 77, 7}); // without a launch: nobody's
    r.builder.meta().process_names = {{100, "rank 0"}, {200, "rank 1"}};
    const TracePtr t = r.finish();
    ASSERT_EQ(t->steps.size(), 3U);
    EXPECT_EQ(t->steps[0].name, "ProfilerStep#1 of rank 0");
    EXPECT_EQ(t->steps[1].name, "ProfilerStep#1 of rank 1");
    EXPECT_EQ(t->steps[2].name, "ProfilerStep#2 of rank 0");
    std::vector<std::string> steps;
    for (const SliceId kernel : t->kernels.slice) {
        const std::int16_t step = t->slices.step[kernel.index()];
        steps.push_back(std::to_string(t->kernels.device[t->slices.detail[kernel.index()]]) + " " +
                        (step < 0 ? "none" : t->steps[static_cast<std::size_t>(step)].name));
    }
    std::sort(steps.begin(), steps.end());
    EXPECT_EQ(steps, (std::vector<std::string>{"0 ProfilerStep#1 of rank 0", "0 ProfilerStep#2 of rank 0", "0 none",
                                               "1 ProfilerStep#1 of rank 1", "1 ProfilerStep#1 of rank 1"}));
}

TEST(Launches, NamesThatDoNotTellProcessesApartGiveWayToNumbers) {
    Ranks r;
    r.host(Category::UserAnnotation, "ProfilerStep#1", 100, {0}, 100);
    r.host(Category::UserAnnotation, "ProfilerStep#1", 200, {0}, 100);
    r.builder.meta().process_names = {{100, "python"}, {200, "python"}};
    const TracePtr t = r.finish();
    ASSERT_EQ(t->steps.size(), 2U);
    EXPECT_EQ(t->steps[0].name, "ProfilerStep#1 of process 100");
    EXPECT_EQ(t->steps[1].name, "ProfilerStep#1 of process 200");
}

// What follows broke once.

TEST(Launches, RanksThatAreNearerThanALaunchTakesAreNotTakenForEachOther) { // 3 us apart, a launch takes 4 and more
    Ranks r;
    for (std::uint32_t id = 1; id <= 50; ++id)
        for (const std::int64_t rank : {0, 1}) {
            const std::int64_t at = 100 * id + 3 * rank;
            r.launch(100 * (rank + 1), {at, id});
            r.kernel(rank, {at + (id % 5 == 0 ? 4 : 40), id});
        }
    // Rank 200's launches are nearest to the work of both, which leaves rank 100 none.
    EXPECT_EQ(problems(*r.finish(), "reused_correlation"), 100U);
}

TEST(Launches, AGpuThatIsNeverIdleTellsNothing) { // rank 200 launches 1 ms later than 100, all work waits for 2 ms
    Ranks r;
    for (std::uint32_t id = 1; id <= 50; ++id) {
        r.launch(100, {100 * id, id});
        r.launch(200, {100 * id + 1000, id});
        r.kernel(0, {100 * id + 2000 + id, id}); // 100's; 200's was not recorded
    }
    EXPECT_EQ(problems(*r.finish(), "reused_correlation"), 50U);
}

TEST(Launches, WorkBehindBothRanksIsNotTheLastOnes) { // rows sorted by kind: all host rows, then all work
    Ranks r;
    for (const std::int64_t rank : {1, 2})
        for (std::uint32_t id = 1; id <= 5; ++id) {
            const auto base = static_cast<std::uint64_t>(rank) * 1000;
            r.launch(rank * 100, {10 * id + rank, id, base + id});
            r.kernel(0, {100 + 10 * id + rank, id, 5000 + base + id});
        }
    EXPECT_EQ(problems(*r.finish(), "reused_correlation"), 10U);
}

TEST(Launches, WorkMayStandBeforeTheHostRowsOfItsRank) {
    Ranks r;
    for (const std::int64_t rank : {1, 2})
        for (std::uint32_t id = 1; id <= 5; ++id) {
            const auto base = static_cast<std::uint64_t>(rank) * 1000;
            r.kernel(0, {100 + 10 * id + rank, id, base + id});
            r.launch(rank * 100, {10 * id + rank, id, base + 100 + id});
        }
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 200, 100, 200, 100, 200, 100, 200, 100, 200}));
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, RowsWithoutArgsHaveNoPlace) {
    Ranks r;
    for (const std::int64_t rank : {1, 2}) {
        const auto base = static_cast<std::uint64_t>(rank) * 1000;
        r.host(Category::CpuOp, "aten::mm", rank * 100, {0, 0, 0}, 200);
        r.launch(rank * 100, {10 + rank, 1, base});
        r.kernel(0, {100 + rank, 1, base + 1});
    }
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), (Pids{100, 200}));
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, AnIdThatARankLostDoesNotGiveItsTrackAway) { // of 200 launches of rank 200 one was not recorded
    Ranks r;
    for (std::uint32_t id = 1; id <= 200; ++id) {
        r.launch(100, {100 * id, id});
        r.kernel(0, {100 * id + 5, id});
        if (id != 7) r.launch(200, {100 * id + 30, id});
        r.kernel(1, {100 * id + 35, id});
    }
    const TracePtr t = r.finish();
    const Pids pids = launchedBy(*t);
    for (std::size_t k = 0; k < pids.size(); ++k) {
        const bool lost = t->kernels.device[k] == 1 && t->slices.correlation[t->kernels.slice[k].index()] == 7;
        EXPECT_EQ(pids[k], lost ? -1 : t->kernels.device[k] == 0 ? 100 : 200) << k;
    }
}

TEST(Launches, ReplaysOfACapturedGraphMayShareAnIdWithAnotherRanksQuery) {
    Ranks r;
    for (const std::int64_t rank : {1, 2}) {
        const auto base = static_cast<std::uint64_t>(rank) * 1000;
        r.host(Category::CudaRuntime, rank == 1 ? "cudaGraphLaunch" : "cudaEventQuery", rank * 100, {5, 1, base}, 2);
        r.launch(rank * 100, {10, 2, base + 1});
        for (std::uint64_t i = 0; i < 30 && rank == 1; ++i) r.kernel(0, {100 + static_cast<int>(i), 1, base + 2 + i});
        r.kernel(0, {200, 2, base + 100});
    }
    Pids expected(31, 100);
    expected.push_back(200);
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), expected);
    EXPECT_EQ(problems(*t, "reused_correlation"), 0U);
}

TEST(Launches, RowsOfUnknownKindsOnAGpuLaunchNothing) {
    Ranks r;
    r.launch(100, {10, 1});
    r.kernel(0, {20, 1});
    r.host(Category::Other, "counters of k", 0, {15, 1}, 10); // under the GPU's pid
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), Pids{100});
    EXPECT_TRUE(t->problems.empty());
    EXPECT_FALSE(t->several_processes);
}

TEST(Launches, AnIdOfTensOfThousandsOfProcesses) { // each with each were 1.6 * 10^9
    Ranks r;
    constexpr std::int64_t kMany = 40'000;
    for (std::int64_t pid = 1; pid <= kMany; ++pid) r.launch(1000 + pid, {pid, 1});
    for (std::int64_t i = 0; i < kMany; ++i) r.kernel(0, {100'000 + i, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(problems(*t, "reused_correlation"), static_cast<std::uint64_t>(kMany));
    EXPECT_EQ(launchedBy(*t).front(), 1000 + kMany);
}

TEST(Launches, ARankWithoutStepsHasNoPartInAnothers) {
    Ranks r;
    r.host(Category::UserAnnotation, "ProfilerStep#1", 100, {0}, 100);
    for (const std::int64_t rank : {1, 2}) {
        r.launch(rank * 100, {10 + rank, static_cast<std::uint32_t>(rank)});
        r.kernel(rank, {20 + rank, static_cast<std::uint32_t>(rank)});
    }
    r.kernel(1, {50, 77}); // its launch is not in the file, but the GPU is 100's
    r.kernel(2, {51, 78});
    const TracePtr t = r.finish();
    std::vector<std::int16_t> steps;
    for (const SliceId kernel : t->kernels.slice) steps.push_back(t->slices.step[kernel.index()]);
    EXPECT_EQ(steps, (std::vector<std::int16_t>{0, -1, 0, -1}));
    EXPECT_EQ(t->steps[0].name, "ProfilerStep#1");
}

TEST(Launches, RanksWithoutStepsAreSaidToBeTogether) {
    Ranks r; // on one GPU track
    for (const std::int64_t rank : {1, 2}) {
        r.launch(rank * 100, {10 + rank, static_cast<std::uint32_t>(rank)});
        r.kernel(0, {20 + rank, static_cast<std::uint32_t>(rank)});
    }
    const TracePtr t = r.finish();
    EXPECT_TRUE(t->several_processes);
    EXPECT_EQ(problems(*t, "processes_together"), 1U);
}

TEST(Launches, AProcessMayHaveTheNumberOfAGpu) { // process 0 and GPU 0, which is process 5's
    Ranks r;
    for (const std::int64_t pid : {0, 5}) {
        r.host(Category::UserAnnotation, "ProfilerStep#1", pid, {pid}, 100);
        r.launch(pid, {20, static_cast<std::uint32_t>(pid + 1)});
    }
    r.kernel(0, {30, 6});
    r.kernel(1, {31, 1});
    const TrackId annotations = r.builder.track(TrackKind::GpuAnnotation, 0, 7, 0, 7);
    r.builder.add({Category::GpuUserAnnotation, "mine", 30 * kUs, kUs, annotations, 0, 0, 0, 0});
    const TracePtr t = r.finish();
    ASSERT_EQ(t->slices.size(), 7U);
    const auto row = static_cast<std::size_t>(
        std::find(t->slices.category.begin(), t->slices.category.end(), Category::GpuUserAnnotation) -
        t->slices.category.begin());
    ASSERT_EQ(t->slices.step[row], 1);
    EXPECT_EQ(t->steps[1].name, "ProfilerStep#1 of process 5");
}

TEST(Launches, NamesOfProcessesDiffer) {
    Ranks r;
    for (const std::int64_t pid : {100, 200, 300, 400})
        r.host(Category::UserAnnotation, "ProfilerStep#1", pid, {pid}, 100);
    r.builder.meta().process_names = {{100, "process 200"},
                                      {300, std::string(63, 'x') + "\xC3\xA4" + std::string(1 << 20, 'y')},
                                      {400, "rank\n4\xE2\x80\xAE"}};
    const TracePtr t = r.finish();
    ASSERT_EQ(t->steps.size(), 4U);
    EXPECT_EQ(t->steps[0].name, "ProfilerStep#1 of process 100");
    EXPECT_EQ(t->steps[1].name, "ProfilerStep#1 of process 200");
    EXPECT_EQ(t->steps[2].name, "ProfilerStep#1 of " + std::string(63, 'x') + "\xE2\x80\xA6");
    EXPECT_EQ(t->steps[3].name, "ProfilerStep#1 of rank\\n4\\u202e");
}

} // namespace
} // namespace fusescope
