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

// Three norms of 4096 rows and one of 64. Of the large ones the second and third also belong to an add + norm, which
// is predicted to save more there.
Analysis analysis() {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    Finding f;
    f.id = "rms_norm";
    f.pattern = Pattern::RmsNorm;
    f.instances = {instance(4096, 100, 200, 150), instance(4096, 100, 200, 150), instance(64, 10, 20, 12),
                   instance(4096, 40, 200, 90)};
    for (std::size_t i = 0; i < f.instances.size(); ++i) f.instances[i].forward = {KernelId(i)};
    Finding add;
    add.id = "add_rms_norm";
    add.pattern = Pattern::AddRmsNorm;
    add.instances = {instance(4096, 120, 220, 160), instance(4096, 60, 220, 160)};
    add.instances[0].forward = {KernelId(1), KernelId(11)};
    add.instances[1].forward = {KernelId(3), KernelId(13)};
    for (Finding* one : {&f, &add})
        for (const Instance& i : one->instances) {
            one->time_ns += i.forward_ns + i.backward_ns;
            one->saving_ns += i.saving_ns;
        }
    a.findings = {f, add};
    a.plan = makePlan(a.findings, 1'000'000);
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

// A graph alone: a roofline estimates 40 us an instance, the runner measured 100 -> 25. The fused form takes 25, not
// the estimate less what was saved (-35).
TEST(Measured, AnEstimateAndAMeasuredSavingHaveNoDifference) {
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    Finding f;
    f.id = "rms_norm";
    f.pattern = Pattern::RmsNorm;
    f.time_estimated = true;
    f.instances = {instance(4096, 40, 0, 30), instance(4096, 40, 0, 30), instance(64, 10, 0, 6)};
    f.instances[2].predicted_ns = {2'000, 4'000, 5'000};
    f.time_ns = 90'000;
    a.findings = {f};
    MeasuredSet set;
    set.set(measured(a, 0, {comparison("forward", 100, 25)}));
    const MeasuredFinding once = applyMeasured(a, a.findings[0], set);
    EXPECT_DOUBLE_EQ(once.measured_ns, 150'000);
    EXPECT_DOUBLE_EQ(once.now_ns, (100 + 100 + 10) * 1000.0); // the small one is estimated still
    EXPECT_DOUBLE_EQ(once.fused_ns.expected, (25 + 25 + 4) * 1000.0);
    EXPECT_DOUBLE_EQ(once.fused_ns.low, (25 + 25 + 2) * 1000.0);
    // With a step its time counts, as before.
    a.findings[0].time_estimated = false;
    const MeasuredFinding seen = applyMeasured(a, a.findings[0], set);
    EXPECT_DOUBLE_EQ(seen.now_ns, 90'000);
    EXPECT_DOUBLE_EQ(seen.fused_ns.expected, seen.now_ns - seen.saving_ns.expected);
    EXPECT_DOUBLE_EQ(applyMeasured(a, a.findings[0], {}).now_ns, 90'000);
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
    EXPECT_EQ(plan.parts, 2u);
    EXPECT_EQ(planPartOf(plan.plan, "rms_norm")->instances, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 518'000); // 1000 - 150 - 12 - 160 - 160
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.low, 36'000);
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
    // The plan takes 0 and 1 (measured, 190 each) and 2 (predicted, 12); add + norm keeps 3 alone, 160 instead of 140.
    const MeasuredPlan plan = applyMeasured(a, set);
    EXPECT_EQ(plan.measured, 1u);
    EXPECT_EQ(plan.parts, 2u);
    EXPECT_EQ(planPartOf(plan.plan, "rms_norm")->instances, (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(planPartOf(plan.plan, "add_rms_norm")->instances, (std::vector<std::uint32_t>{1}));
    EXPECT_EQ(plan.predicted_instances, 2u);
    EXPECT_FALSE(plan.whole());
    EXPECT_DOUBLE_EQ(plan.saving_ns.expected, 552'000);
    EXPECT_DOUBLE_EQ(plan.predicted_step_ns.expected, 448'000);
}

TEST(Measured, TheVerdictIsOnWhatWasMeasured) {
    const Analysis a = analysis(); // a step of 1 ms
    EXPECT_EQ(applyMeasured(a, a.findings[0], {}).verdict, a.findings[0].verdict);
    const auto with = [&](double after_us) {
        MeasuredSet set;
        for (const InstanceClass& of : instanceClasses(a, a.findings[0])) {
            MeasuredResult result = measured(a, 0, {comparison("backward", 21, after_us)});
            result.instance_class = of.name;
            set.set(result);
        }
        return set;
    };
    EXPECT_EQ(applyMeasured(a, a.findings[0], with(15)).verdict, Verdict::NotBeneficial); // 6 of 770 us each
    EXPECT_EQ(planPartOf(applyMeasured(a, with(15)).plan, "rms_norm"), nullptr);
    EXPECT_EQ(applyMeasured(a, with(15)).left_out, std::vector<std::string>{"rms_norm"});
    EXPECT_EQ(applyMeasured(a, a.findings[0], with(9)).verdict, Verdict::WorthIt); // 12 each: 4.8% of the step
    EXPECT_NE(planPartOf(applyMeasured(a, with(9)).plan, "rms_norm"), nullptr);
    // And so are the marks in the pictures.
    using Rows = std::vector<std::uint32_t>;
    EXPECT_EQ(applyMeasured(a, MeasuredSet{}).marked, (Rows{0, 1})); // as predicted
    EXPECT_EQ(applyMeasured(a, with(15)).marked, Rows{1});
    EXPECT_EQ(applyMeasured(a, with(9)).marked, (Rows{0, 1}));
    Analysis other = a; // predicted as worth nothing, measured as worth it
    other.findings[0].verdict = Verdict::NotBeneficial;
    EXPECT_EQ(applyMeasured(other, MeasuredSet{}).marked, Rows{1});
    EXPECT_EQ(applyMeasured(other, with(9)).marked, (Rows{0, 1}));
}

TEST(Measured, AFindingThatLostComesIn) {
    const Analysis a = analysis();
    MeasuredSet set;
    // Add + norm is slower when fused, the norms alone are not: all of theirs come in, and the plan is theirs.
    MeasuredResult slower = measured(a, 0, {comparison("forward", 90, 100)});
    slower.finding = "add_rms_norm";
    slower.instance_class = instanceClasses(a, a.findings[1])[0].name;
    set.set(slower);
    MeasuredPlan plan = applyMeasured(a, set);
    EXPECT_EQ(plan.plan.findings, std::vector<std::string>{"rms_norm"});
    EXPECT_EQ(plan.left_out, std::vector<std::string>{"add_rms_norm"});
    EXPECT_TRUE(plan.come_in.empty());
    EXPECT_EQ(plan.measured, 1u);
    EXPECT_EQ(plan.parts, 2u);
    EXPECT_DOUBLE_EQ(plan.saving_ns.expected, 402'000);
    // In a model of two such layers alone there would be no norm in the plan before.
    Analysis only = a;
    only.findings[0].instances = {a.findings[0].instances[1], a.findings[0].instances[3]};
    only.plan = makePlan(only.findings, 1'000'000);
    ASSERT_EQ(only.plan.findings, std::vector<std::string>{"add_rms_norm"});
    plan = applyMeasured(only, set);
    EXPECT_EQ(plan.plan.findings, std::vector<std::string>{"rms_norm"});
    EXPECT_EQ(plan.come_in, std::vector<std::string>{"rms_norm"});
    EXPECT_DOUBLE_EQ(plan.saving_ns.expected, 240'000); // 150 + 90
}

TEST(Measured, NeverMoreThanTheOwnTime) {
    // The runner's launches, one by one, take longer than the kernels do in the step.
    const FuseResult launches = measured(analysis(), 0, {comparison("forward", 500, 2)}).result;
    EXPECT_DOUBLE_EQ(measuredSaving(launches, StepTime{100'000, 0, 0}), 98'000);
    // Fused, launched alone, takes longer than the kernels now: it is not slower for that.
    const FuseResult slow = measured(analysis(), 0, {comparison("forward", 500, 150)}).result;
    EXPECT_DOUBLE_EQ(measuredSaving(slow, StepTime{100'000, 0, 0}), 0);
    // Without a step of that GPU nothing bounds it.
    EXPECT_DOUBLE_EQ(measuredSaving(launches, std::nullopt), 498'000);
    EXPECT_DOUBLE_EQ(measuredSaving(slow, std::nullopt), 350'000);
}

TEST(Measured, UnderAGraphWhereTheStepDoesNotWaitForLaunches) {
    Comparison c = comparison("forward", 60, 12);
    c.baseline.graph_us = {30, 30, 30, 20};
    c.fused.graph_us = {8, 8, 8, 20};
    const FuseResult r = measured(analysis(), 0, {c}).result;
    EXPECT_DOUBLE_EQ(measuredSaving(r, StepTime{32'000, 0, 0}), 22'000);      // 30 - 8
    EXPECT_DOUBLE_EQ(measuredSaving(r, StepTime{32'000, 0, 40'000}), 48'000); // 60 - 12, of 72 in all
    EXPECT_DOUBLE_EQ(measuredSaving(r, std::nullopt), 48'000);                // as launched
}

TEST(Measured, EstimatedTimesBoundNothing) {
    Analysis a = analysis();
    const MeasuredResult long_one = measured(a, 1, {comparison("forward", 60, 12)});
    MeasuredSet set;
    set.set(long_one);
    EXPECT_DOUBLE_EQ(applyMeasured(a, a.findings[0], set).measured_ns, 0); // 10 in the step, and 12 fused
    a.findings[0].time_estimated = true;
    EXPECT_DOUBLE_EQ(applyMeasured(a, a.findings[0], set).measured_ns, 48'000);
}

TEST(Measured, SlowerIsTold) {
    const Analysis a = analysis();
    MeasuredSet set;
    set.set(measured(a, 0, {comparison("forward", 90, 100), comparison("backward", 180, 200)}));
    const MeasuredFinding f = applyMeasured(a, a.findings[0], set);
    EXPECT_DOUBLE_EQ(f.measured_ns, 3 * -30'000.0);
    // They stay as they are: 2 is predicted, and add + norm in place of 1 and 3.
    EXPECT_DOUBLE_EQ(applyMeasured(a, set).saving_ns.expected, 332'000);
    EXPECT_TRUE(applyMeasured(a, set).left_out.empty()); // 2 is in it
}

TEST(Measured, SpeedIsOfAllInstancesTogether) {
    const Analysis a = analysis();
    const auto speed = [&](double large_us, double small_us, double spread_us) {
        MeasuredSet set;
        // Of the large ones 100 us forward are taken by the step, by the third 40; of the small one 10.
        Comparison large = comparison("forward", 100, large_us), small = comparison("forward", 10, small_us);
        for (Comparison* one : {&large, &small}) {
            one->baseline.us.p10 -= spread_us;
            one->fused.us.p90 += spread_us;
        }
        if (large_us > 0) set.set(measured(a, 0, {large}));
        if (small_us > 0) set.set(measured(a, 1, {small}));
        return applyMeasured(a, a.findings[0], set).speed;
    };
    EXPECT_EQ(speed(0, 0, 0), SpeedVerdict::Unknown);
    EXPECT_EQ(speed(30, 0, 0), SpeedVerdict::Faster); // 70 + 70 + 10
    EXPECT_EQ(speed(0, 30, 0), SpeedVerdict::Slower);
    EXPECT_EQ(speed(30, 30, 0), SpeedVerdict::Faster);   // 150 gained, 20 lost
    EXPECT_EQ(speed(90, 0, 6), SpeedVerdict::NotFaster); // 10 + 10 gained, within the spread
}

TEST(Measured, WhatDoesNotOverrideThePrediction) {
    const Analysis a = analysis();
    const MeasuredResult good = measured(a, 0, {comparison("forward", 90, 20)});
    EXPECT_EQ(useOf(a, good.result), MeasuredUse::Saving);
    MeasuredResult cpu = good;
    cpu.result.on_gpu = false;
    cpu.result.device = "CPU (reference kernels)";
    EXPECT_EQ(useOf(a, cpu.result), MeasuredUse::Cpu);
    MeasuredResult other = good;
    other.result.device = "NVIDIA A100-SXM4-80GB";
    EXPECT_EQ(useOf(a, other.result), MeasuredUse::OtherDevice);
    MeasuredResult busy = good;
    busy.result.busy = true;
    EXPECT_EQ(useOf(a, busy.result), MeasuredUse::Busy);
    MeasuredResult hasty = good, wild = good;
    hasty.result.directions[0].baseline.us.rounds = hasty.result.directions[0].fused.us.rounds = 2;
    EXPECT_EQ(useOf(a, hasty.result), MeasuredUse::Unsteady);
    wild.result.directions[0].baseline.us.p90 = 1000;
    EXPECT_EQ(useOf(a, wild.result), MeasuredUse::Unsteady);
    MeasuredResult nothing = good;
    nothing.result.directions[0].has_fused = false;
    EXPECT_EQ(useOf(a, nothing.result), MeasuredUse::NoFusedForm);
    for (const MeasuredResult& result : {cpu, other, busy, hasty, wild, nothing}) {
        MeasuredSet set;
        set.set(result);
        const MeasuredFinding f = applyMeasured(a, a.findings[0], set);
        EXPECT_FALSE(f.any());
        EXPECT_EQ(f.classes[0].result != nullptr, true);
        EXPECT_DOUBLE_EQ(f.saving_ns.expected, 402'000);
        EXPECT_EQ(f.verdict, a.findings[0].verdict);
        EXPECT_FALSE(applyMeasured(a, set).any());
    }
}

TEST(Measured, AResultThatIsGoodForMoreStays) {
    const Analysis a = analysis();
    const FuseResult saving = measured(a, 0, {comparison("forward", 90, 20)}).result;
    FuseResult busy = saving, other = saving, cpu = saving, nothing = saving;
    busy.busy = true;
    other.device = "NVIDIA A100-SXM4-80GB";
    cpu.on_gpu = false;
    cpu.device = "CPU (reference kernels)";
    nothing.directions[0].has_fused = false;
    const std::vector<FuseResult> worst_last{saving, busy, other, cpu, nothing};
    for (std::size_t earlier = 0; earlier < worst_last.size(); ++earlier)
        for (std::size_t later = 0; later < worst_last.size(); ++later)
            EXPECT_EQ(takesThePlaceOf(a, worst_last[earlier], worst_last[later]), later <= earlier)
                << earlier << ' ' << later;
    FuseResult hasty = saving;
    hasty.directions[0].fused.us.rounds = 1;
    EXPECT_FALSE(takesThePlaceOf(a, saving, hasty));
    EXPECT_TRUE(takesThePlaceOf(a, hasty, saving));
    EXPECT_TRUE(takesThePlaceOf(a, hasty, busy) && takesThePlaceOf(a, busy, hasty)); // neither is good for anything
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
    const std::vector<TimelineFused> plan = timelineFused(a, set, {});
    ASSERT_EQ(plan.size(), 2u); // chosen again: 0, 1 and 2, of which 0 and 1 are measured
    EXPECT_EQ(plan[0].instance, 0u);
    EXPECT_EQ(plan[1].instance, 1u);
    EXPECT_DOUBLE_EQ(plan[0].forward_ns, 20'000);
    EXPECT_DOUBLE_EQ(plan[0].backward_ns, 60'000);
    EXPECT_DOUBLE_EQ(plan[0].in_step_ns, 110'000); // 100 + 200, less 90 - 20 and 180 - 60
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

TEST(Moves, ARegionOfTheUsersOwnMovesByWhatIsMeasured) {
    Analysis a = analysis();
    a.kernel_costs.resize(8);
    a.kernel_costs[6].flops = 100e6;
    a.kernel_costs[6].bytes_read = 150e6;
    a.kernel_costs[7].flops = 20e6;
    a.kernel_costs[7].bytes_written = 90e6;
    auto region = std::make_shared<ChosenRegion>();
    region->id = "nodes.1";
    region->title = "silu, mul";
    region->nodes = {"silu", "mul"};
    region->work.id = region->id;
    a.kernel_costs[5].flops = 180e6;
    a.kernel_costs[5].bytes_read = 360e6;
    Instance i;
    i.forward = {KernelId(6), KernelId(7)};
    i.backward = {KernelId(5)};
    i.forward_ns = 60'000;
    i.backward_ns = 90'000;
    i.fused.flops = 120e6; // forward
    i.fused.bytes_read = 150e6;
    i.fused_backward.bytes_read = 90e6;
    region->work.instances = {i};
    MeasuredResult result = measured(a, 0, {comparison("forward", 60, 20), comparison("backward", 90, 30)});
    result.finding = region->id;
    result.instance_class = instanceClasses(a, region->work)[0].name;
    MeasuredSet set;
    set.set(result);
    std::vector<RooflineMove> moves = rooflineMoves(a, set, std::vector<ChosenPtr>{region});
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_DOUBLE_EQ(moves[0].ai_now, 0.5);       // 300e6 over 600e6
    EXPECT_DOUBLE_EQ(moves[0].flops_now, 2e12);   // in 150 us
    EXPECT_DOUBLE_EQ(moves[0].ai_fused, 2);       // 120e6 and as many as now, 180e6, over 150e6
    EXPECT_DOUBLE_EQ(moves[0].flops_fused, 6e12); // in 50 us
    EXPECT_EQ(pickOfWork(moves[0]), (Pick{PickKind::Region, numberOf("nodes.1")}));
    // The forward alone.
    result.result.directions.pop_back();
    set.set(result);
    moves = rooflineMoves(a, set, std::vector<ChosenPtr>{region});
    ASSERT_EQ(moves.size(), 1u);
    EXPECT_DOUBLE_EQ(moves[0].flops_now, 2e12);   // 120e6 in 60 us
    EXPECT_DOUBLE_EQ(moves[0].ai_fused, 2);       // 120e6 over 60e6
    EXPECT_DOUBLE_EQ(moves[0].flops_fused, 6e12); // in 20 us
    EXPECT_TRUE(rooflineMoves(a, set).empty());
}

} // namespace
} // namespace fusescope
