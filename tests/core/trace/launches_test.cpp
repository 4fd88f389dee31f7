// SPDX-License-Identifier: Apache-2.0
// Whose launch a kernel's is, where several processes (merged ranks) give out the same correlation ids.
#include "ranks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fusescope::test {
namespace {

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

} // namespace
} // namespace fusescope::test
