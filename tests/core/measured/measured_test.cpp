// SPDX-License-Identifier: Apache-2.0
// Every number is worked out by hand, beside it.
#include "core/measured/measured.h"
#include "core/measured/moves.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

Instance instance(double rows, double forward_us, double backward_us, double predicted_us) {
    Instance i;
    i.pattern = Pattern::RmsNorm;
    i.geometry.dtype = DType::BFloat16;
    i.geometry.rows = rows;
    i.geometry.width = 4096;
    i.forward_ns = forward_us * 1000;
    i.backward_ns = backward_us * 1000;
    const double saving = predicted_us * 1000;
    i.saving_ns = {saving / 2, saving, saving * 2};
    return i;
}

// Three norms of 4096 rows and one of 64.
Analysis analysis() {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    Finding f;
    f.id = "rms_norm";
    f.pattern = Pattern::RmsNorm;
    f.instances = {instance(4096, 100, 200, 150), instance(4096, 100, 200, 150), instance(64, 10, 20, 12),
                   instance(4096, 40, 200, 90)};
    for (const Instance& i : f.instances) {
        f.time_ns += i.forward_ns + i.backward_ns;
        f.saving_ns.low += i.saving_ns.low;
        f.saving_ns.expected += i.saving_ns.expected;
        f.saving_ns.high += i.saving_ns.high;
    }
    a.findings.push_back(std::move(f));
    PlanPart part;
    part.finding = "rms_norm";
    part.instances = {0, 2};
    part.saving_ns = {81'000, 162'000, 324'000};
    a.plan.parts.push_back(part);
    a.plan.findings = {"rms_norm"};
    a.plan.step_ns = 1'000'000;
    a.plan.saving_ns = part.saving_ns;
    return a;
}

Comparison comparison(const char* direction, double before_us, double after_us) {
    Comparison c;
    c.direction = direction;
    c.has_fused = true;
    c.baseline.us = {before_us, before_us * 0.99, before_us * 1.01};
    c.fused.us = {after_us, after_us * 0.99, after_us * 1.01};
    return c;
}

MeasuredResult measured(const Analysis& a, std::size_t which, std::vector<Comparison> directions) {
    MeasuredResult m;
    m.finding = "rms_norm";
    m.instance_class = instanceClasses(a, a.findings[0])[which].name;
    m.result.device = "NVIDIA H200";
    m.result.on_gpu = true;
    m.result.directions = std::move(directions);
    return m;
}

TEST(Measured, InstancesOfOneShapeAreOneClass) {
    const Analysis a = analysis();
    const std::vector<InstanceClass> classes = instanceClasses(a, a.findings[0]);
    ASSERT_EQ(classes.size(), 2u);
    EXPECT_EQ(classes[0].instances, (std::vector<std::uint32_t>{0, 1, 3}));
    EXPECT_EQ(classes[1].instances, (std::vector<std::uint32_t>{2}));
    EXPECT_NE(classes[0].name, classes[1].name);
    EXPECT_EQ(instanceClasses(analysis(), analysis().findings[0])[0].name, classes[0].name);
}

TEST(Measured, NothingMeasuredKeepsThePrediction) {
    const Analysis a = analysis();
    const MeasuredFinding f = applyMeasured(a, a.findings[0], {});
    EXPECT_FALSE(f.any());
    EXPECT_DOUBLE_EQ(f.saving_ns.expected, 402'000); // 150 + 150 + 12 + 90
    EXPECT_DOUBLE_EQ(f.predicted_ns, 402'000);
    const MeasuredPlan plan = applyMeasured(a, MeasuredSet{});
    EXPECT_FALSE(plan.any());
    EXPECT_EQ(plan.parts, 1u);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 838'000); // 1000 - 162
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.low, 676'000);
}

TEST(Measured, AMeasuredClassOverridesItsInstances) {
    const Analysis a = analysis();
    MeasuredSet set;
    set.set(measured(a, 0, {comparison("forward", 90, 20), comparison("backward", 180, 60)}));
    const MeasuredFinding f = applyMeasured(a, a.findings[0], set);
    EXPECT_EQ(f.measured, 3u);
    EXPECT_EQ(f.instances, 4u);
    EXPECT_FALSE(f.whole());
    // 0 and 1: 90 - 20 and 180 - 60. 3: its forward takes 40 in the step, so 40 - 20 and 180 - 60.
    EXPECT_DOUBLE_EQ(f.measured_ns, (190 + 190 + 140) * 1000.0);
    EXPECT_DOUBLE_EQ(f.saving_ns.expected, (190 + 190 + 140 + 12) * 1000.0);
    EXPECT_DOUBLE_EQ(f.saving_ns.low, (190 + 190 + 140 + 6) * 1000.0);
    // The plan has 0 (measured, 190) and 2 (predicted, 12).
    const MeasuredPlan plan = applyMeasured(a, set);
    EXPECT_EQ(plan.measured, 1u);
    EXPECT_DOUBLE_EQ(plan.saving_ns.expected, 202'000);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 798'000);
}

TEST(Measured, NeverMoreThanTheOwnTime) {
    // The runner's launches, one by one, take longer than the kernels do in the step.
    const FuseResult launches = measured(analysis(), 0, {comparison("forward", 500, 2)}).result;
    EXPECT_DOUBLE_EQ(measuredSaving(launches, instance(4096, 100, 0, 0)), 98'000);
    // Fused, launched alone, takes longer than the kernels now: it is not slower for that.
    const FuseResult slow = measured(analysis(), 0, {comparison("forward", 500, 150)}).result;
    EXPECT_DOUBLE_EQ(measuredSaving(slow, instance(4096, 100, 0, 0)), 0);
}

TEST(Measured, UnderAGraphWhereTheStepDoesNotWaitForLaunches) {
    Comparison c = comparison("forward", 60, 12);
    c.baseline.graph_us.median = 30;
    c.fused.graph_us.median = 8;
    const FuseResult r = measured(analysis(), 0, {c}).result;
    Instance busy = instance(4096, 32, 0, 0);
    EXPECT_DOUBLE_EQ(measuredSaving(r, busy), 22'000); // 30 - 8
    Instance waits = busy;
    waits.idle_ns = 40'000;                             // 72 in all
    EXPECT_DOUBLE_EQ(measuredSaving(r, waits), 48'000); // 60 - 12
}

TEST(Measured, SlowerIsTold) {
    const Analysis a = analysis();
    MeasuredSet set;
    set.set(measured(a, 0, {comparison("forward", 90, 100), comparison("backward", 180, 200)}));
    const MeasuredFinding f = applyMeasured(a, a.findings[0], set);
    EXPECT_DOUBLE_EQ(f.measured_ns, 3 * -30'000.0);
    EXPECT_DOUBLE_EQ(applyMeasured(a, set).saving_ns.expected, 12'000); // it stays as it is; 2 is predicted
}

TEST(Measured, WhatDoesNotOverrideThePrediction) {
    const Analysis a = analysis();
    const MeasuredResult good = measured(a, 0, {comparison("forward", 90, 20)});
    EXPECT_EQ(useOf(a, good), MeasuredUse::Saving);
    MeasuredResult cpu = good;
    cpu.result.on_gpu = false;
    cpu.result.device = "CPU (reference kernels)";
    EXPECT_EQ(useOf(a, cpu), MeasuredUse::Cpu);
    MeasuredResult other = good;
    other.result.device = "NVIDIA A100-SXM4-80GB";
    EXPECT_EQ(useOf(a, other), MeasuredUse::OtherDevice);
    MeasuredResult busy = good;
    busy.result.busy = true;
    EXPECT_EQ(useOf(a, busy), MeasuredUse::Busy);
    MeasuredResult nothing = good;
    nothing.result.directions[0].has_fused = false;
    EXPECT_EQ(useOf(a, nothing), MeasuredUse::NoFusedForm);
    for (const MeasuredResult& result : {cpu, other, busy, nothing}) {
        MeasuredSet set;
        set.set(result);
        const MeasuredFinding f = applyMeasured(a, a.findings[0], set);
        EXPECT_FALSE(f.any());
        EXPECT_EQ(f.classes[0].result != nullptr, true);
        EXPECT_DOUBLE_EQ(f.saving_ns.expected, 402'000);
    }
}

TEST(Measured, ALaterResultTakesThePlaceOfAnEarlierOne) {
    const Analysis a = analysis();
    MeasuredSet set;
    set.set(measured(a, 1, {comparison("forward", 9, 3)}));
    set.set(measured(a, 1, {comparison("forward", 9, 4)}));
    ASSERT_EQ(set.results().size(), 1u);
    EXPECT_DOUBLE_EQ(applyMeasured(a, a.findings[0], set).measured_ns, 5'000);
    set.remove(set.results().begin()->first);
    EXPECT_TRUE(set.empty());
}

TEST(Moves, OnTheTimelineThePlanAndTheSelection) {
    const Analysis a = analysis();
    MeasuredSet set;
    set.set(measured(a, 0, {comparison("forward", 90, 20), comparison("backward", 180, 60)}));
    const std::vector<TimelineFused> plan = timelineFused(a, set, {}); // 0 and 2, of which 0 is measured
    ASSERT_EQ(plan.size(), 1u);
    EXPECT_EQ(plan[0].instance, 0u);
    EXPECT_DOUBLE_EQ(plan[0].forward_ns, 20'000);
    EXPECT_DOUBLE_EQ(plan[0].backward_ns, 60'000);
    SelectionSets selection;
    selection.findings = {0};
    EXPECT_EQ(timelineFused(a, set, selection).size(), 3u);
    set.set(measured(a, 0, {comparison("forward", 90, 20)}));
    EXPECT_LT(timelineFused(a, set, {})[0].backward_ns, 0);
}

TEST(Moves, FromTheRegionAsRunToItsFusedForm) {
    Analysis a = analysis();
    MeasuredSet set;
    EXPECT_TRUE(rooflineMoves(a, set).empty());
    set.set(measured(a, 0, {comparison("forward", 90, 20), comparison("backward", 180, 60)}));
    EXPECT_TRUE(rooflineMoves(a, set).empty()); // nothing is known of FLOPs and bytes
    Instance& i = a.findings[0].instances[0];
    i.now.flops = 600e6;
    i.now.bytes_read = 1000e6;
    i.now.bytes_written = 200e6;
    i.fused.flops = 480e6;
    i.fused.bytes_read = 200e6;
    i.fused.bytes_written = 40e6;
    const std::vector<RooflineMove> moves = rooflineMoves(a, set);
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_DOUBLE_EQ(moves[0].ai_now, 0.5);
    EXPECT_DOUBLE_EQ(moves[0].flops_now, 2e12); // 600e6 in 300 us
    EXPECT_DOUBLE_EQ(moves[0].ai_fused, 2);
    EXPECT_DOUBLE_EQ(moves[0].flops_fused, 6e12); // 480e6 in 80 us
    EXPECT_DOUBLE_EQ(moves[0].now_ns, 300'000);
    EXPECT_DOUBLE_EQ(moves[0].fused_ns, 80'000);
    // The forward alone: without the backward's part.
    i.fused_backward.flops = 320e6;
    i.fused_backward.bytes_read = 160e6;
    set.set(measured(a, 0, {comparison("forward", 90, 20)}));
    EXPECT_DOUBLE_EQ(rooflineMoves(a, set)[0].ai_fused, 2);       // 160 over 80
    EXPECT_DOUBLE_EQ(rooflineMoves(a, set)[0].flops_fused, 8e12); // 160e6 in 20 us
}

} // namespace
} // namespace fusescope
