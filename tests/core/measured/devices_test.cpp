// SPDX-License-Identifier: Apache-2.0
// A step of two GPUs, times in us; every expected number is worked out by hand beside it.
#include "core/measured/replay.h"
#include "tests/core/link/toy_trace.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace fusescope {
namespace {

constexpr std::int64_t kUs = 1000;

class TwoGpus {
public:
    TwoGpus() { trace_.annotation(trace_.main(), "ProfilerStep#1", 0, 1000 * kUs); }

    // Launched so early that nothing waits for it. Kernels count in the order of their begin.
    void kernel(std::int32_t device, std::int64_t begin, std::int64_t end, std::string_view name = "some_kernel") {
        add(Category::Kernel, device, 7, begin, end, name);
    }
    void copyToOther(std::int32_t device, std::int64_t begin, std::int64_t end) {
        add(Category::GpuMemcpy, device, 7, begin, end, "Memcpy PtoP (Device -> Device)");
    }
    void collective(std::int32_t device, std::int64_t begin, std::int64_t end) {
        add(Category::Kernel, device, 9, begin, end, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
    }
    // One region a list of kernels; each saves all but `fused` of what it takes.
    std::optional<TimelineAfter> fuse(std::initializer_list<std::initializer_list<std::size_t>> regions,
                                      std::int64_t step_end, double fused) {
        a_.trace = trace_.finish();
        a_.step = 0;
        StepStats stats;
        stats.begin = 0;
        stats.end = step_end * kUs;
        a_.steps = {stats};
        Progress progress;
        a_.link = linkTrace(*a_.trace, nullptr, progress);
        std::vector<FusedChange> changes;
        Finding finding;
        for (const auto& kernels : regions) {
            FusedChange change;
            change.instance = static_cast<std::uint32_t>(finding.instances.size());
            change.fused[0] = fused * kUs;
            change.saved = -change.fused[0];
            Instance& instance = finding.instances.emplace_back();
            for (const std::size_t k : kernels) {
                instance.forward.emplace_back(k);
                change.saved += static_cast<double>(a_.trace->slices.dur[a_.trace->kernels.slice[k].index()]);
            }
            changes.push_back(change);
        }
        a_.findings = {finding};
        return replay(a_, changes);
    }
    // What is recorded at a time begins when?
    [[nodiscard]] static double at(const TimelineAfter& after, std::int32_t device, std::int64_t us) {
        Track track;
        track.kind = TrackKind::GpuStream;
        track.device = device;
        const TimeMap* map = after.timesOf(track);
        return static_cast<double>(map == nullptr ? us * kUs : map->at(us * kUs)) / kUs;
    }

private:
    void add(Category category, std::int32_t device, std::int64_t stream, std::int64_t begin, std::int64_t end,
             std::string_view name) {
        ++correlation_;
        trace_.launch(trace_.main(), std::int64_t{3} * correlation_, correlation_); // ns: before all work
        CompleteEvent event;
        event.category = category;
        event.name = name;
        event.track = trace_.builder().track(TrackKind::GpuStream, device, stream, device, stream);
        event.ts = begin * kUs;
        event.dur = (end - begin) * kUs;
        event.correlation = correlation_;
        if (category == Category::Kernel) {
            KernelDetail detail;
            detail.device = device;
            detail.stream = stream;
            trace_.builder().add(event, detail);
        } else {
            CopyDetail detail;
            detail.device = device;
            trace_.builder().add(event, detail);
        }
    }
    test::ToyTrace trace_;
    Analysis a_;
    std::uint32_t correlation_ = 0;
};

TEST(AfterOnSeveralDevices, WhatOneSavesMovesNothingOfAnother) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140);
    gpus.kernel(1, 110, 190);
    gpus.kernel(0, 140, 160);
    gpus.kernel(1, 190, 200);
    const auto after = gpus.fuse({{0}}, 200, 10);
    ASSERT_TRUE(after);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 0, 140), 110); // 10 instead of 40, whatever the other one does
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 1, 190), 190);
    EXPECT_DOUBLE_EQ(after->savedNs(), 0); // the other one takes as long as before
}

TEST(AfterOnSeveralDevices, SavingsSideBySideCountOnce) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 120);
    gpus.kernel(1, 130, 150);
    gpus.kernel(0, 190, 200);
    gpus.kernel(1, 190, 200);
    const auto after = gpus.fuse({{0}, {1}}, 200, 5);
    ASSERT_TRUE(after);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 0, 190), 175);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 1, 190), 175);
    EXPECT_DOUBLE_EQ(after->savedNs(), 15 * kUs); // not 30
}

TEST(AfterOnSeveralDevices, WhoWaitsForACopyMovesWithIt) {
    TwoGpus gpus; // a model in two parts
    gpus.kernel(1, 50, 60);
    gpus.kernel(0, 100, 140);
    gpus.copyToOther(0, 140, 150);
    gpus.kernel(1, 152, 180);
    const auto after = gpus.fuse({{1}}, 180, 10);
    ASSERT_TRUE(after);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 1, 50), 50);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 1, 152), 122);
    EXPECT_DOUBLE_EQ(after->savedNs(), 30 * kUs);
}

TEST(AfterOnSeveralDevices, ACopyMovesNoOneIntoItsOwnWork) {
    TwoGpus gpus;
    gpus.kernel(1, 50, 135);
    gpus.kernel(0, 100, 140);
    gpus.copyToOther(0, 140, 150);
    gpus.kernel(1, 152, 180);
    const auto after = gpus.fuse({{1}}, 180, 10);
    ASSERT_TRUE(after);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*after, 1, 152), 137); // 15 idle before the copy ended, of its 30
}

TEST(AfterOnSeveralDevices, NoneLeavesACollectiveBeforeTheLastHasCome) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140);
    gpus.kernel(1, 101, 145);
    gpus.collective(0, 140, 165); // waits 5 for the other one
    gpus.collective(1, 145, 165);
    gpus.kernel(0, 165, 180);
    gpus.kernel(1, 165, 180);
    const auto alone = gpus.fuse({{0}}, 180, 10);
    ASSERT_TRUE(alone);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*alone, 0, 140), 110);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*alone, 0, 165), 165);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*alone, 1, 165), 165);
    EXPECT_DOUBLE_EQ(alone->savedNs(), 0);
}

TEST(AfterOnSeveralDevices, WhatAllSaveBeforeACollectiveIsSaved) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140);
    gpus.kernel(1, 101, 145);
    gpus.collective(0, 140, 165);
    gpus.collective(1, 145, 165);
    gpus.kernel(0, 165, 180);
    gpus.kernel(1, 165, 180);
    const auto both = gpus.fuse({{0}, {1}}, 180, 10);
    ASSERT_TRUE(both);
    // The last comes at 111 instead of 145, 34 earlier. The first moves by the 30 that it saves itself: that it waits
    // less there is no promise.
    EXPECT_DOUBLE_EQ(TwoGpus::at(*both, 1, 165), 131);
    EXPECT_DOUBLE_EQ(TwoGpus::at(*both, 0, 165), 135);
    EXPECT_DOUBLE_EQ(both->savedNs(), 30 * kUs);
}

TEST(AfterOnSeveralDevices, KernelsOfTwoAreNoRegion) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140);
    gpus.kernel(1, 140, 160);
    gpus.kernel(1, 160, 180);
    EXPECT_FALSE(gpus.fuse({{0, 1}}, 180, 10));
}

} // namespace
} // namespace fusescope
