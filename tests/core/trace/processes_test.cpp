// SPDX-License-Identifier: Apache-2.0
// Steps and names of several processes in one file.
#include "ranks.h"

#include <algorithm>
#include <string>
#include <vector>

namespace fusescope::test {
namespace {

TEST(Processes, EveryProcessHasItsOwnSteps) {
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

TEST(Processes, NamesThatDoNotTellProcessesApartGiveWayToNumbers) {
    Ranks r;
    r.host(Category::UserAnnotation, "ProfilerStep#1", 100, {0}, 100);
    r.host(Category::UserAnnotation, "ProfilerStep#1", 200, {0}, 100);
    r.builder.meta().process_names = {{100, "python"}, {200, "python"}};
    const TracePtr t = r.finish();
    ASSERT_EQ(t->steps.size(), 2U);
    EXPECT_EQ(t->steps[0].name, "ProfilerStep#1 of process 100");
    EXPECT_EQ(t->steps[1].name, "ProfilerStep#1 of process 200");
}

TEST(Processes, ARankWithoutStepsHasNoPartInAnothers) {
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

TEST(Processes, RanksWithoutStepsAreSaidToBeTogether) {
    Ranks r; // on one GPU track
    for (const std::int64_t rank : {1, 2}) {
        r.launch(rank * 100, {10 + rank, static_cast<std::uint32_t>(rank)});
        r.kernel(0, {20 + rank, static_cast<std::uint32_t>(rank)});
    }
    const TracePtr t = r.finish();
    EXPECT_TRUE(t->several_processes);
    EXPECT_EQ(problems(*t, "processes_together"), 1U);
}

TEST(Processes, AProcessMayHaveTheNumberOfAGpu) { // process 0 and GPU 0, which is process 5's
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

TEST(Processes, NamesOfProcessesDiffer) {
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
} // namespace fusescope::test
