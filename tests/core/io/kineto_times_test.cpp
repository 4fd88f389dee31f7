// SPDX-License-Identifier: Apache-2.0
// Numbers and nesting as traces really write them.
#include "kineto_text.h"

namespace fusescope::testing {
namespace {

TEST(KinetoTimes, NineteenDigitsAsText) { // Ascend 133
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":"1778672154839123.456","dur":1})");
    EXPECT_EQ(t->slices.ts[0], 1'778'672'154'839'123'456);
}

TEST(KinetoTimes, SiblingsThatALossyReaderWouldNest) { // speedscope 487: 442.505 ends before 442.569 begins
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"cpu_op","name":"B","pid":1,"tid":1,"ts":1700000000066.682,"dur":375.838},)"
                   R"({"ph":"X","cat":"cpu_op","name":"C","pid":1,"tid":1,"ts":1700000000442.569,"dur":1})");
    EXPECT_EQ(t->slices.depth[rowOf(*t, "C")], 0);
    EXPECT_FALSE(t->slices.parent[rowOf(*t, "C")].valid());
}

TEST(KinetoTimes, NegativeDurationsAreZeroAndCounted) { // kineto 853
    const TracePtr t = readEvents(kernel("k", R"("ts":100,"dur":-3)"));
    EXPECT_EQ(t->slices.dur[0], 0);
    EXPECT_EQ(countOf(*t, "negative_duration"), 1U);
}

TEST(KinetoTimes, UntimedEventsDoNotStretchTheAxis) { // kineto 109
    const TracePtr t = readEvents(kernel("u", R"("ts":0.000,"dur":0.000)", R"("correlation":7)") + "," +
                                  kernel("k", R"("ts":5000,"dur":1)"));
    EXPECT_EQ(t->begin, 5'000'000);
    EXPECT_EQ(countOf(*t, "untimed"), 1U);
    EXPECT_EQ(t->kernels.size(), 2U);
}

TEST(KinetoTimes, DisplayTimeUnitChangesNothing) { // perfetto 274
    const TracePtr t = read(
        R"({"displayTimeUnit":"ns","traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1236,"dur":5}]})");
    EXPECT_EQ(t->slices.ts[0], 1'236'000);
    EXPECT_EQ(t->slices.dur[0], 5'000);
}

TEST(KinetoTimes, FileOrderDoesNotMatter) {
    const TracePtr t = readEvents(kernel("c", R"("ts":9,"dur":1)") + "," + kernel("a", R"("ts":3,"dur":1)") + "," +
                                  kernel("b", R"("ts":7,"dur":1)"));
    EXPECT_EQ(t->nameOf(SliceId(0)), "a");
    EXPECT_EQ(t->nameOf(SliceId(2)), "c");
    EXPECT_EQ(t->nameOf(t->kernels.slice[0]), "a");
}

TEST(KinetoTimes, OverlappingKernelsOfOneStreamGetTwoLanes) { // perfetto 4280
    const TracePtr t = readEvents(kernel("A", R"("ts":3,"dur":3.776)") + "," + kernel("B", R"("ts":5,"dur":2)"));
    EXPECT_EQ(t->slices.depth[rowOf(*t, "A")], 0);
    EXPECT_EQ(t->slices.depth[rowOf(*t, "B")], 1);
    EXPECT_EQ(t->kernels.size(), 2U);
}

TEST(KinetoTimes, AKernelWithoutDurationTakesNoLane) { // kineto 136
    const TracePtr t = readEvents(kernel("A", R"("ts":10,"dur":5)") + "," + kernel("B", R"("ts":12,"dur":0)"));
    EXPECT_EQ(t->slices.depth[rowOf(*t, "B")], 0);
    EXPECT_EQ(t->tracks[0].depths, 1);
}

TEST(KinetoTimes, ANeighbourOfAnOverrunningChildIsNoChild) { // pytorch 174555: a step's last child ends 4 ns after it
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1,"dur":9},)"
                   R"({"ph":"X","cat":"cpu_op","name":"last","pid":1,"tid":1,"ts":8,"dur":2.004},)"
                   R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":10.001,"dur":9},)"
                   R"({"ph":"X","cat":"cpu_op","name":"first","pid":1,"tid":1,"ts":10.002,"dur":1})");
    EXPECT_EQ(t->slices.parent[rowOf(*t, "last")].index(), rowOf(*t, "ProfilerStep#1"));
    EXPECT_EQ(t->slices.depth[rowOf(*t, "ProfilerStep#2")], 0);
    EXPECT_EQ(t->slices.parent[rowOf(*t, "first")].index(), rowOf(*t, "ProfilerStep#2"));
    EXPECT_EQ(t->tracks[0].depths, 2);
}

TEST(KinetoTimes, MicrosecondsAreNotCutToWholeOnes) { // HTA 317
    EXPECT_EQ(readEvents(kernel("k", R"("ts":100.7,"dur":0.2)"))->slices.dur[0], 200);
}

TEST(KinetoTimes, AChildMayOverrunItsParentByNanoseconds) { // pytorch 174555
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"user_annotation","name":"parent","pid":1,"tid":1,"ts":0.001,"dur":10},)"
                   R"({"ph":"X","cat":"cpu_op","name":"child","pid":1,"tid":1,"ts":2,"dur":8.005})");
    EXPECT_EQ(t->slices.parent[rowOf(*t, "child")].index(), rowOf(*t, "parent"));
}

TEST(KinetoTimes, TheLongerOfTwoThatBeginTogetherIsOutside) { // perfetto 878
    const TracePtr t = readEvents(R"({"ph":"X","cat":"cpu_op","name":"inner","pid":1,"tid":1,"ts":1,"dur":5},)"
                                  R"({"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1,"dur":10})");
    EXPECT_EQ(t->slices.parent[rowOf(*t, "inner")].index(), rowOf(*t, "outer"));
    EXPECT_EQ(t->slices.depth[rowOf(*t, "inner")], 1);
}

TEST(KinetoTimes, GpuAnnotationsHaveTheirOwnTrack) { // kineto PR 914
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"gpu_user_annotation","name":"fwd","pid":0,"tid":7,"ts":0.999,"dur":2.002},)" +
                   kernel("k", R"("ts":1,"dur":2)"));
    EXPECT_EQ(t->slices.depth[rowOf(*t, "k")], 0);
    EXPECT_EQ(t->tracks[t->slices.track[rowOf(*t, "fwd")].index()].kind, TrackKind::GpuAnnotation);
}

TEST(KinetoTimes, GpuWorkBelongsToTheStepThatLaunchedIt) { // PR 165779
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#1","pid":1,"tid":1,"ts":1,"dur":9},)"
        R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#2","pid":1,"tid":1,"ts":10,"dur":9},)"
        R"({"ph":"X","cat":"cuda_driver","name":"cuLaunchKernelEx","pid":1,"tid":1,"ts":8,"dur":1,"args":{"correlation":5}},)" +
        kernel("late", R"("ts":12,"dur":1)", R"("correlation":5)"));
    ASSERT_EQ(t->steps.size(), 2U);
    EXPECT_EQ(t->steps[0].number, 1);
    EXPECT_EQ(t->slices.step[rowOf(*t, "late")], 0);
}

} // namespace
} // namespace fusescope::testing
