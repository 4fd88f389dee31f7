// SPDX-License-Identifier: Apache-2.0
// What regions of the user's own add to the step. Every number is worked out by hand, beside it.
#include "core/measured/chosen_gain.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using Texts = std::vector<std::string>;

Instance instance(std::uint32_t kernel, double forward_us) {
    Instance i;
    i.forward = {KernelId(kernel)};
    i.forward_ns = forward_us * 1000;
    i.saving_ns = {50'000, 50'000, 50'000};
    return i;
}

// A finding of two instances, one of which the plan takes; a step of 1000 us that the plan shortens by 50.
Analysis analysis() {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    Finding f;
    f.id = "rms_norm";
    f.instances = {instance(1, 100), instance(2, 100)};
    a.findings.push_back(std::move(f));
    PlanPart part;
    part.finding = "rms_norm";
    part.instances = {0};
    part.saving_ns = {50'000, 50'000, 50'000};
    a.plan.parts.push_back(part);
    a.plan.findings = {"rms_norm"};
    a.plan.step_ns = 1'000'000;
    a.plan.saving_ns = part.saving_ns;
    a.plan.predicted_step_ns = {950'000, 950'000, 950'000};
    return a;
}

ChosenPtr region(const char* title, std::uint32_t first_kernel, std::uint32_t second_kernel) {
    auto made = std::make_shared<ChosenRegion>();
    made->id = made->title = title;
    made->nodes = {"mul"};
    made->work.id = title;
    made->work.instances = {instance(first_kernel, 80), instance(second_kernel, 80)};
    return made;
}

MeasuredResult result(const Analysis& a, const ChosenRegion& of, double before_us, double after_us) {
    MeasuredResult m;
    m.finding = of.id;
    m.instance_class = instanceClasses(a, of.work).front().name;
    m.result.device = "NVIDIA H200";
    m.result.on_gpu = true;
    Comparison c;
    c.direction = "forward";
    c.has_fused = true;
    c.baseline.us = {before_us, before_us, before_us, 20};
    c.fused.us = {after_us, after_us, after_us, 20};
    m.result.directions = {c};
    return m;
}

TEST(ChosenGain, WhatSharesNothingWithThePlanIsAdded) {
    const Analysis a = analysis();
    // Kernel 2 belongs to an instance that the plan leaves out.
    const std::vector<ChosenPtr> regions{region("mine", 2, 7)};
    MeasuredSet set;
    EXPECT_EQ(regionGains(a, set, a.plan, regions)[0].with, Texts{});
    EXPECT_EQ(applyMeasured(a, set, regions).regions, 0u) << "its limit is no saving";
    set.set(result(a, *regions[0], 80, 30));
    const MeasuredPlan plan = applyMeasured(a, set, regions);
    EXPECT_EQ(plan.regions, 1u);
    EXPECT_EQ(plan.measured, 0u);
    EXPECT_TRUE(plan.any());
    // 50 of the plan, two times 80 - 30.
    EXPECT_DOUBLE_EQ(plan.saving_ns.expected, 150'000);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 850'000);
}

TEST(ChosenGain, WhatThePlanHasIsNotCountedTwice) {
    const Analysis a = analysis();
    const std::vector<ChosenPtr> regions{region("in the plan", 1, 7), region("mine", 8, 9), region("again", 9, 10)};
    MeasuredSet set;
    for (const ChosenPtr& one : regions) set.set(result(a, *one, 80, 60));
    const std::vector<RegionGain> gains = regionGains(a, set, a.plan, regions);
    ASSERT_EQ(gains.size(), 3u);
    EXPECT_EQ(gains[0].with, Texts{"rms_norm"});
    EXPECT_EQ(gains[1].with, Texts{});
    EXPECT_EQ(gains[2].with, Texts{"mine"});
    const MeasuredPlan plan = applyMeasured(a, set, regions);
    EXPECT_EQ(plan.regions, 1u);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 1'000'000 - 50'000 - 2 * 20'000);
}

TEST(ChosenGain, WhatTheStepDoesNotRunSavesNoTimeThere) { // not "measured: 0 ns"
    const Analysis a = analysis();
    auto unseen = std::make_shared<ChosenRegion>(*region("mine", 8, 9));
    unseen->work.instances = {Instance{}};
    const std::vector<ChosenPtr> regions{unseen};
    EXPECT_TRUE(unseen->lacksTimes());
    EXPECT_FALSE(region("seen", 8, 9)->lacksTimes());
    MeasuredSet set;
    set.set(result(a, *unseen, 1000, 400));
    const MeasuredFinding measured = applyMeasured(a, *unseen, set);
    EXPECT_FALSE(measured.any());
    ASSERT_EQ(measured.classes.size(), 1u);
    EXPECT_NE(measured.classes[0].result, nullptr) << "what was measured is shown";
    EXPECT_EQ(measured.classes[0].use, MeasuredUse::NotInStep);
    EXPECT_EQ(applyMeasured(a, set, regions).regions, 0u);
    auto graph_alone = *unseen;
    graph_alone.work.time_estimated = true;
    EXPECT_FALSE(graph_alone.lacksTimes());
}

TEST(ChosenGain, ASlowerOneIsNotTaken) {
    const Analysis a = analysis();
    const std::vector<ChosenPtr> regions{region("mine", 8, 9)};
    MeasuredSet set;
    set.set(result(a, *regions[0], 80, 90));
    const MeasuredFinding measured = applyMeasured(a, *regions[0], set);
    EXPECT_TRUE(measured.any());
    EXPECT_DOUBLE_EQ(measured.saving_ns.expected, -20'000);
    EXPECT_DOUBLE_EQ(measured.predicted_ns, 0) << "nodes have a limit and no prediction";
    EXPECT_DOUBLE_EQ(applyMeasured(a, set, regions).predicted_step_ns.expected, 950'000);
}

// Each of the first three shares kernel 9 with the last, and none of them counts.
TEST(ChosenGain, OnlyARegionThatCountsBlocksALaterOne) {
    const Analysis a = analysis();
    const std::vector<ChosenPtr> regions{region("slower", 8, 9), region("not measured", 9, 10),
                                         region("in the plan", 1, 9), region("mine", 9, 11)};
    MeasuredSet set;
    set.set(result(a, *regions[0], 80, 90));
    set.set(result(a, *regions[2], 80, 20));
    set.set(result(a, *regions[3], 80, 50));
    const std::vector<RegionGain> gains = regionGains(a, set, a.plan, regions);
    EXPECT_FALSE(gains[0].counts);
    EXPECT_FALSE(gains[1].counts);
    EXPECT_FALSE(gains[2].counts);
    EXPECT_EQ(gains[3].with, Texts{});
    EXPECT_TRUE(gains[3].counts);
    const MeasuredPlan plan = applyMeasured(a, set, regions);
    EXPECT_EQ(plan.regions, 1u);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 1'000'000 - 50'000 - 2 * 30'000);
}

} // namespace
} // namespace fusescope
