// SPDX-License-Identifier: Apache-2.0
// Files that give the work of one rank to another, if they are believed too soon, or take long.
#include "ranks.h"

namespace fusescope::test {
namespace {

TEST(LaunchOwners, RanksThatAreNearerThanALaunchTakesAreNotTakenForEachOther) { // 3 us apart, a launch takes 4 and more
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

TEST(LaunchOwners, AGpuThatIsNeverIdleTellsNothing) { // rank 200 launches 1 ms later than 100, all work waits for 2 ms
    Ranks r;
    for (std::uint32_t id = 1; id <= 50; ++id) {
        r.launch(100, {100 * id, id});
        r.launch(200, {100 * id + 1000, id});
        r.kernel(0, {100 * id + 2000 + id, id}); // 100's; 200's was not recorded
    }
    EXPECT_EQ(problems(*r.finish(), "reused_correlation"), 50U);
}

TEST(LaunchOwners, WorkBehindBothRanksIsNotTheLastOnes) { // rows sorted by kind: all host rows, then all work
    Ranks r;
    for (const std::int64_t rank : {1, 2})
        for (std::uint32_t id = 1; id <= 5; ++id) {
            const auto base = static_cast<std::uint64_t>(rank) * 1000;
            r.launch(rank * 100, {10 * id + rank, id, base + id});
            r.kernel(0, {100 + 10 * id + rank, id, 5000 + base + id});
        }
    EXPECT_EQ(problems(*r.finish(), "reused_correlation"), 10U);
}

TEST(LaunchOwners, WorkMayStandBeforeTheHostRowsOfItsRank) {
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

TEST(LaunchOwners, RowsWithoutArgsHaveNoPlace) {
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

TEST(LaunchOwners, AnIdThatARankLostDoesNotGiveItsTrackAway) { // of 200 launches of rank 200 one was not recorded
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

TEST(LaunchOwners, ASmallRankOnABigOnesTrackKeepsItsWork) { // ids of their own: 600 of one, 30 of the other
    Ranks r;
    for (std::uint32_t id = 1; id <= 630; ++id) {
        r.launch(id <= 600 ? 100 : 200, {100 * id, id});
        r.kernel(0, {100 * id + 5, id});
    }
    Pids expected(600, 100);
    expected.insert(expected.end(), 30, 200);
    EXPECT_EQ(launchedBy(*r.finish()), expected);
}

TEST(LaunchOwners, ReplaysOfACapturedGraphMayShareAnIdWithAnotherRanksQuery) {
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

TEST(LaunchOwners, RowsOfUnknownKindsOnAGpuLaunchNothing) {
    Ranks r;
    r.launch(100, {10, 1});
    r.kernel(0, {20, 1});
    r.host(Category::Other, "counters of k", 0, {15, 1}, 10); // under the GPU's pid
    const TracePtr t = r.finish();
    EXPECT_EQ(launchedBy(*t), Pids{100});
    EXPECT_TRUE(t->problems.empty());
    EXPECT_FALSE(t->several_processes);
}

TEST(LaunchOwners, AnIdOfTensOfThousandsOfProcesses) { // each with each were 1.6 * 10^9
    Ranks r;
    constexpr std::int64_t kMany = 40'000;
    for (std::int64_t pid = 1; pid <= kMany; ++pid) r.launch(1000 + pid, {pid, 1});
    for (std::int64_t i = 0; i < kMany; ++i) r.kernel(0, {100'000 + i, 1});
    const TracePtr t = r.finish();
    EXPECT_EQ(problems(*t, "reused_correlation"), static_cast<std::uint64_t>(kMany));
    EXPECT_EQ(launchedBy(*t).front(), 1000 + kMany);
}

} // namespace
} // namespace fusescope::test
