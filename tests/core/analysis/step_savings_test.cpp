// SPDX-License-Identifier: Apache-2.0
// A step of two GPUs, times in us; every expected number is worked out by hand beside it.
#include "core/analysis/step_savings.h"
#include "core/analysis/step_text.h"
#include "tests/core/link/toy_trace.h"

#include <gtest/gtest.h>

#include <string_view>

namespace fusescope {
namespace {

constexpr std::int64_t kUs = 1000;

class TwoGpus {
public:
    TwoGpus() { trace_.annotation(trace_.main(), "ProfilerStep#1", 0, 1000 * kUs); }
    // An instance of one kernel that saves so much. Kernels come in the order of their begin.
    void kernel(std::int32_t device, std::int64_t begin, std::int64_t end, double saves_us = 0,
                std::int32_t stream = 7) {
        const CompleteEvent event = work(Category::Kernel, device, begin, end, "some_kernel", stream);
        KernelDetail detail;
        detail.device = device;
        detail.stream = stream;
        trace_.builder().add(event, detail);
        const double saves = saves_us * kUs;
        Instance& instance = finding_.instances.emplace_back();
        instance.forward = {KernelId(finding_.instances.size() - 1)};
        instance.forward_ns = static_cast<double>(event.dur);
        instance.saving_ns = {saves / 2, saves, saves};
    }
    void copyToOther(std::int32_t device, std::int64_t begin, std::int64_t end) {
        const CompleteEvent event = work(Category::GpuMemcpy, device, begin, end, "Memcpy PtoP (Device -> Device)");
        CopyDetail detail;
        detail.device = device;
        trace_.builder().add(event, detail);
    }
    const Analysis& finish() {
        a_.trace = trace_.finish();
        a_.step = 0;
        finding_.id = "rms_norm";
        finding_.verdict = Verdict::WorthIt;
        a_.findings = {finding_};
        a_.plan = makePlan(a_.findings, 200 * kUs);
        predictStep(a_, {}, a_.plan);
        return a_;
    }

private:
    CompleteEvent work(Category category, std::int32_t device, std::int64_t begin, std::int64_t end,
                       std::string_view name, std::int32_t stream = 7) {
        ++correlation_;
        trace_.launch(trace_.main(), std::int64_t{3} * correlation_, correlation_);
        CompleteEvent event;
        event.category = category;
        event.name = name;
        event.track = trace_.builder().track(TrackKind::GpuStream, device, stream, device, stream);
        event.ts = begin * kUs;
        event.dur = (end - begin) * kUs;
        event.correlation = correlation_;
        return event;
    }
    test::ToyTrace trace_;
    Analysis a_;
    Finding finding_;
    std::uint32_t correlation_ = 0;
};

double stepUs(const Analysis& a) { return a.plan.predicted_step_ns.expected / kUs; }

TEST(StepSavings, OfOneGpuTheyAddUp) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140, 10);
    gpus.kernel(0, 140, 190, 20);
    const Analysis& a = gpus.finish();
    EXPECT_DOUBLE_EQ(stepUs(a), 200 - 30);
    EXPECT_EQ(severalGpusNote(a), "");
}

// Two processes on one GPU: each kernel has it for half of 80. They save all of their 80, and the GPU was busy for 80.
TEST(StepSavings, OnOneGpuKernelsSideBySideSaveNoMoreThanItWasBusy) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 180, 80);
    gpus.kernel(0, 100, 180, 80, 8);
    const Analysis& a = gpus.finish();
    EXPECT_DOUBLE_EQ(a.plan.saving_ns.expected, 160 * kUs);
    EXPECT_DOUBLE_EQ(stepUs(a), 200 - 80);
    EXPECT_NE(severalGpusNote(a).find("160"), std::string::npos) << severalGpusNote(a);
    EXPECT_NE(severalGpusNote(a).find("80.0"), std::string::npos) << severalGpusNote(a);
}

TEST(StepSavings, OnOneGpuAKernelCountsForItsPart) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 140, 20);   // 20 alone, 20 beside the next one: 30 of 40 count
    gpus.kernel(0, 120, 160, 8, 8); // likewise
    gpus.kernel(0, 160, 180, 10);   // alone
    EXPECT_DOUBLE_EQ(stepUs(gpus.finish()), 200 - (15 + 6 + 10));
}

TEST(StepSavings, SideBySideTheStepGetsWhatTheLastOneSaves) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 190, 30);
    gpus.kernel(1, 100, 190, 20);
    const Analysis& a = gpus.finish();
    EXPECT_DOUBLE_EQ(a.plan.saving_ns.expected, 50 * kUs); // of both
    EXPECT_DOUBLE_EQ(stepUs(a), 200 - 20);
    EXPECT_DOUBLE_EQ(a.plan.predicted_step_ns.high, (200 - 10) * kUs); // half of it
    EXPECT_NE(severalGpusNote(a).find("50"), std::string::npos);
    EXPECT_NE(severalGpusNote(a).find("20"), std::string::npos);
}

TEST(StepSavings, WhoIsThroughEarlierHoldsNothing) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 190, 30);
    gpus.kernel(1, 100, 175, 0);                       // 15 before the other one
    EXPECT_DOUBLE_EQ(stepUs(gpus.finish()), 200 - 15); // the other one is at 160, this one at 175
}

TEST(StepSavings, OneThatSavesNothingHoldsTheStep) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 190, 30);
    gpus.kernel(1, 100, 190, 0);
    EXPECT_DOUBLE_EQ(stepUs(gpus.finish()), 200);
}

TEST(StepSavings, WhereWorkIsHandedOverTheyAddUp) {
    for (const bool handed : {true, false}) {
        TwoGpus gpus; // layers on two GPUs
        gpus.kernel(0, 100, 140, 10);
        if (handed) gpus.copyToOther(0, 140, 141);
        gpus.kernel(1, 141, 190, 20);
        // Without a copy each goes by itself: the second one is through at 170, the first one was at 140.
        EXPECT_DOUBLE_EQ(stepUs(gpus.finish()), 200 - (handed ? 30 : 20));
    }
}

TEST(StepSavings, InPartSideBySide) {
    TwoGpus gpus;
    gpus.copyToOther(0, 90, 91);
    gpus.kernel(0, 100, 140, 20); // half of it beside: 10 alone, 10 beside
    gpus.kernel(1, 120, 180, 24); // a third of it: 16 alone, 8 beside
    EXPECT_DOUBLE_EQ(stepUs(gpus.finish()), 200 - (10 + 16 + 8));
}

TEST(StepSavings, MeasuredOnesAndOthersBeside) {
    TwoGpus gpus;
    gpus.kernel(0, 100, 150, 30);
    gpus.kernel(1, 100, 150, 30);
    gpus.kernel(0, 150, 190);
    gpus.kernel(1, 150, 190);
    Analysis a = gpus.finish();
    const MeasuredSavings savings{{25'000.0, 12'000.0, std::nullopt, std::nullopt}};
    a.plan = makePlan(a.findings, 200 * kUs, savings);
    predictStep(a, savings, a.plan);
    EXPECT_DOUBLE_EQ(stepUs(a), 200 - 12);
    const std::vector<std::pair<const Instance*, double>> more{{&a.findings[0].instances[3], 5'000}};
    predictStep(a, savings, a.plan, more);
    EXPECT_DOUBLE_EQ(stepUs(a), 200 - 17);
}

} // namespace
} // namespace fusescope
