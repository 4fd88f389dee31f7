// SPDX-License-Identifier: Apache-2.0
// A step of a few kernels, times in us; every expected number is worked out by hand beside it.
#include "core/measured/after.h"
#include "core/measured/replay_work.h"
#include "core/measured/shown.h"
#include "tests/core/link/toy_trace.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace fusescope {
namespace {

constexpr std::int64_t kUs = 1000;

struct ToyKernel {
    std::int64_t begin, end, launch;
};

// Kernels in order, each launched at a time of its own.
struct Toy {
    test::ToyTrace trace;
    Analysis a;
    std::uint32_t correlation = 0;

    explicit Toy(std::initializer_list<ToyKernel> kernels) {
        trace.annotation(trace.main(), "ProfilerStep#1", 1000 * kUs, 1000 * kUs);
        for (const ToyKernel& k : kernels) kernel(k);
    }
    void kernel(const ToyKernel& k) {
        ++correlation;
        trace.launch(trace.main(), (1000 + k.launch) * kUs, correlation);
        trace.kernel((1000 + k.begin) * kUs, (k.end - k.begin) * kUs, correlation);
    }
    void wait(std::int64_t begin, std::int64_t end) {
        CompleteEvent event;
        event.category = Category::CudaRuntime;
        event.name = "cudaDeviceSynchronize";
        event.track = trace.main();
        event.ts = (1000 + begin) * kUs;
        event.dur = (end - begin) * kUs;
        trace.builder().add(event);
    }
    // With a finding of one instance, of these kernels, which is the plan.
    const Analysis& finish(std::int64_t step_end, std::initializer_list<std::size_t> region, double idle_us = 0) {
        a.trace = trace.finish();
        a.step = 0;
        a.device.name = "NVIDIA H200";
        a.device.source = DeviceSource::Trace;
        StepStats stats;
        stats.begin = a.trace->slices.ts[a.trace->kernels.slice[0].index()];
        stats.end = (1000 + step_end) * kUs;
        stats.wall_ns = static_cast<double>(stats.end - stats.begin);
        a.steps = {stats};
        Progress progress;
        a.link = linkTrace(*a.trace, nullptr, progress);
        Finding f;
        f.id = "rms_norm";
        f.pattern = Pattern::RmsNorm;
        Instance i;
        i.pattern = Pattern::RmsNorm;
        i.geometry.dtype = DType::BFloat16;
        i.geometry.rows = 64;
        for (const std::size_t k : region) {
            i.forward.emplace_back(k);
            i.forward_ns += static_cast<double>(a.trace->slices.dur[a.trace->kernels.slice[k].index()]);
        }
        i.idle_ns = idle_us * kUs;
        f.instances = {i};
        a.findings = {f};
        PlanPart part;
        part.finding = f.id;
        part.instances = {0};
        a.plan.parts = {part};
        a.plan.findings = {f.id};
        return a;
    }
};

MeasuredSet measured(const Analysis& a, double before_us, double after_us) {
    MeasuredResult m;
    m.finding = a.findings[0].id;
    m.instance_class = instanceClasses(a, a.findings[0])[0].name;
    m.result.device = "NVIDIA H200";
    m.result.on_gpu = true;
    Comparison c;
    c.direction = "forward";
    c.has_fused = true;
    c.baseline.us = {before_us, before_us, before_us, 20};
    c.fused.us = {after_us, after_us, after_us, 20};
    m.result.directions = {c};
    MeasuredSet set;
    set.set(std::move(m));
    return set;
}

// The step with the finding fused.
TimelineAfter replayed(const Analysis& a, double before_us, double after_us) {
    std::optional<TimelineAfter> after = timelineAfter(a, measured(a, before_us, after_us), {});
    EXPECT_TRUE(after);
    return after ? *std::move(after) : TimelineAfter{};
}

// In us of the toy.
double at(const TimeMap& map, double us) {
    return static_cast<double>(map.at(1000 * kUs + static_cast<std::int64_t>(us * kUs))) / kUs - 1000;
}

TEST(After, WhatBeginsThenIsOfTheStepThatIsAsked) { // merged ranks, whose work begins at once
    TraceBuilder builder;
    for (const std::int32_t rank : {0, 1}) {
        const TrackId cpu = builder.track(TrackKind::CpuThread, 100 + rank, 1),
                      gpu = builder.track(TrackKind::GpuStream, rank, 7, rank, 7);
        const auto id = static_cast<std::uint32_t>(rank + 1);
        builder.add({Category::UserAnnotation, "ProfilerStep#1", rank, 100 * kUs, cpu, 0, 0, 0, 0});
        builder.add({Category::CudaRuntime, "cudaLaunchKernel", (10 + rank) * kUs, kUs, cpu, id, 0, 0, 0});
        builder.add({Category::Kernel, "k", 50 * kUs, kUs, gpu, id, 0, 0, 0}, KernelDetail{});
    }
    Analysis a;
    a.trace = *std::move(builder).finish();
    Progress progress;
    a.link = linkTrace(*a.trace, nullptr, progress);
    for (const std::int32_t rank : {0, 1}) {
        const NextWork next = workAt(a, 50 * kUs, static_cast<std::size_t>(rank));
        EXPECT_EQ(next.device, rank);
        EXPECT_EQ(next.launch, (10 + rank) * kUs);
    }
    EXPECT_EQ(workAt(a, 51 * kUs, 0).device, -1);
}

TEST(After, LaterWorkMovesUpByWhatIsSaved) {
    // All launched long before.
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {151, 171, 14}, {172, 200, 16}}};
    const Analysis& a = toy.finish(200, {1, 2});
    // 50 unfused, 20 fused: 30 are saved.
    const TimelineAfter after = replayed(a, 50, 20);
    EXPECT_DOUBLE_EQ(after.measured_ns, 30 * kUs);
    EXPECT_DOUBLE_EQ(after.savedNs(), 30 * kUs);
    EXPECT_EQ(after.end, (1000 + 170) * kUs);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 100), 100);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 120), 120);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 150), 140); // 20 instead of 30
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 171), 141); // nothing instead of 20
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 172), 142);
    EXPECT_DOUBLE_EQ(static_cast<double>(after.gpus[0].map.endAt(1200 * kUs)), 1170 * kUs);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 200), 200); // the next step stays
    EXPECT_DOUBLE_EQ(at(after.cpu, 16), 14);           // one launch instead of two, 2 apart
    ASSERT_EQ(after.places.size(), 1u);
    EXPECT_EQ(after.places[0].begin, 1120 * kUs);
    EXPECT_EQ(after.places[0].end, 1140 * kUs);
    EXPECT_EQ(after.places[0].recorded_end, 1171 * kUs);
    ASSERT_EQ(after.removed.size(), 2u);
    EXPECT_TRUE(after.replaces(a.trace->kernels.slice[2]));
    EXPECT_FALSE(after.replaces(a.trace->kernels.slice[3]));
    EXPECT_EQ(after.placeOf(a, a.trace->kernels.slice[2]), &after.places[0]);
    EXPECT_EQ(after.placeOf(a, a.trace->kernels.slice[3]), nullptr);
    EXPECT_EQ(afterText(after), "step 100 µs → 70.0 µs, the whole plan measured");
    EXPECT_EQ(afterHeldText(after), "");
}

TEST(After, WhatThePlanLeavesOutIsFusedWhileItIsSelected) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {151, 171, 14}, {172, 200, 16}}};
    const Analysis a = toy.finish(200, {1, 2});
    const MeasuredSet set = measured(a, 50, 49); // 1 of 50 us: not beneficial
    EXPECT_FALSE(timelineAfter(a, set, {}));
    SelectionSets selected;
    selected.pick = {PickKind::Finding, 0};
    selected.findings = {0};
    const std::optional<TimelineAfter> after = timelineAfter(a, set, selected);
    ASSERT_TRUE(after);
    EXPECT_EQ(afterText(*after), "step 100 µs → 99.0 µs, the plan and what is selected measured");
}

TEST(After, WhatIsOnlyPredictedIsTold) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {151, 171, 14}, {172, 200, 16}}};
    Analysis a = toy.finish(200, {1, 2});
    Finding other = a.findings[0];
    other.id = "swiglu";
    other.instances[0].forward = {KernelId(3)};
    other.instances[0].saving_ns = {5 * kUs, 5 * kUs, 5 * kUs};
    a.findings.push_back(other);
    a.plan = makePlan(a.findings, 100 * kUs);
    EXPECT_EQ(afterText(replayed(a, 50, 20)), "step 100 µs → 70.0 µs, measured so far");
}

TEST(After, NothingStartsBeforeItsLaunch) {
    Toy toy{{{100, 120, 95}, // the quickest start: 5 after its launch
             {120, 150, 100},
             {150, 170, 102},
             {170, 200, 155}, // launched 2 earlier, not before 158: 12 earlier at most
             {200, 220, 157}}};
    const Analysis& a = toy.finish(220, {1, 2});
    const TimelineAfter after = replayed(a, 50, 20);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 170), 158);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 200), 188);
    EXPECT_DOUBLE_EQ(after.savedNs(), 12 * kUs);
    EXPECT_EQ(afterHeldText(after).substr(0, 12), "12.0 µs of "); // of the measured 30
}

TEST(After, LaunchesThatGoMakeRoomForLaterOnes) {
    Toy toy{{{100, 120, 95}, {120, 150, 100}, {150, 170, 110}, {170, 200, 155}}};
    const Analysis& a = toy.finish(200, {1, 2});
    const TimelineAfter after = replayed(a, 50, 20);
    EXPECT_DOUBLE_EQ(at(after.cpu, 100), 100);
    EXPECT_DOUBLE_EQ(at(after.cpu, 155), 145);         // 10 between the region's launches
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 170), 150); // 145 + 5
}

TEST(After, OtherLaunchesBetweenStay) {
    Toy toy{{{100, 120, 95},
             {120, 150, 100},
             {150, 155, 104}, // foreign: the CPU still does what it did around it
             {155, 170, 110},
             {170, 200, 160}}};
    const Analysis& a = toy.finish(200, {1, 3});
    const TimelineAfter after = replayed(a, 45, 20);
    EXPECT_DOUBLE_EQ(at(after.cpu, 160), 160);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 170), 165);
}

TEST(After, WhereARegionWaitsForLaunchesTheyMoveToo) {
    // Each kernel starts 5 after its launch, and the GPU waits between.
    Toy toy{{{100, 110, 95}, {130, 140, 125}, {160, 170, 155}, {190, 200, 185}}};
    // 20 of kernels, 20 of waiting between them; fused 12 from launch to end: 28 saved.
    const Analysis& a = toy.finish(200, {1, 2}, 20);
    const TimelineAfter after = replayed(a, 60, 12);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 130), 130);
    EXPECT_EQ(after.places[0].end, 1142 * kUs); // 130 + 12
    EXPECT_DOUBLE_EQ(at(after.cpu, 185), 155);  // 30 between its launches
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 190), 162);
    EXPECT_DOUBLE_EQ(after.savedNs(), 28 * kUs);
}

TEST(After, AWaitForTheGpuEndsEarlier) {
    Toy toy{{{100, 120, 95}, {120, 150, 100}, {150, 170, 102}}};
    toy.wait(104, 172); // until 2 after the last kernel
    toy.kernel({190, 220, 180});
    const Analysis& a = toy.finish(220, {1, 2});
    const TimelineAfter after = replayed(a, 50, 20);
    EXPECT_DOUBLE_EQ(at(after.cpu, 172), 142);
    EXPECT_DOUBLE_EQ(at(after.cpu, 180), 150);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 190), 160);
    EXPECT_DOUBLE_EQ(after.savedNs(), 30 * kUs);
}

TEST(After, AFusedKernelLongerThanTheFirstPushes) {
    Toy toy{{{100, 120, 10},
             {120, 125, 12},
             {125, 145, 14}, // foreign, between the region's
             {145, 200, 16},
             {200, 210, 18}}};
    const Analysis& a = toy.finish(210, {1, 3});
    // 60 unfused, 25 fused: 35 saved. The first takes 25 instead of 5.
    const TimelineAfter after = replayed(a, 60, 25);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 125), 145);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 145), 165);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 200), 165);
    EXPECT_DOUBLE_EQ(after.savedNs(), 35 * kUs);
}

TEST(After, OtherStreamsKeepTheirLength) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {150, 200, 14}, {200, 210, 16}}};
    // Beside the region's second kernel, for 40 of its 50.
    const TrackId other = toy.trace.builder().track(TrackKind::GpuStream, 0, 8, 0, 8);
    CompleteEvent event;
    event.category = Category::GpuMemcpy;
    event.name = "Memcpy";
    event.track = other;
    event.ts = 1160 * kUs;
    event.dur = 40 * kUs;
    toy.trace.builder().add(event, CopyDetail{});
    const Analysis& a = toy.finish(210, {1, 2});
    const TimelineAfter after = replayed(a, 80, 20);
    EXPECT_DOUBLE_EQ(at(after.gpus[0].map, 200) - at(after.gpus[0].map, 160), 40);
    EXPECT_DOUBLE_EQ(after.savedNs(), 20 * kUs); // 10 of the first, 10 of the second
}

TEST(After, WithoutASavingThereIsNone) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}}};
    Analysis a = toy.finish(150, {0, 1});
    EXPECT_FALSE(timelineAfter(a, {}, {}));
    EXPECT_FALSE(timelineAfter(a, measured(a, 50, 60), {})); // slower: it stays as it is
    MeasuredSet cpu;
    MeasuredResult result = measured(a, 50, 20).results().begin()->second;
    result.result.on_gpu = false;
    cpu.set(result);
    EXPECT_FALSE(timelineAfter(a, cpu, {}));
    EXPECT_TRUE(timelineAfter(a, measured(a, 50, 20), {}));
    a.findings[0].verdict = Verdict::AlreadyFused; // in no plan: only while it is selected
    EXPECT_FALSE(timelineAfter(a, measured(a, 50, 20), {}));
    SelectionSets selection;
    selection.findings = {0};
    EXPECT_TRUE(timelineAfter(a, measured(a, 50, 20), selection));
    a.time_factors = {2, 2}; // findings of another GPU
    EXPECT_FALSE(timelineAfter(a, measured(a, 50, 20), selection));
}

TEST(After, SharedKernelsGoOnce) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {150, 170, 14}}};
    Analysis a = toy.finish(170, {0, 1});
    Finding other = a.findings[0];
    other.id = "add_rms_norm";
    other.instances[0].forward = {KernelId(1), KernelId(2)};
    a.findings.push_back(other);
    MeasuredSet set = measured(a, 50, 20);
    MeasuredResult result = set.results().begin()->second;
    result.finding = other.id;
    result.instance_class = instanceClasses(a, a.findings[1])[0].name;
    set.set(result);
    SelectionSets selection;
    selection.findings = {1};
    const auto after = timelineAfter(a, set, selection);
    ASSERT_TRUE(after);
    EXPECT_EQ(after->places.size(), 1u); // the plan's
    EXPECT_DOUBLE_EQ(after->measured_ns, 30 * kUs);
}

TEST(AfterCache, OnlyWhatASelectionBringsInIsReckonedAnew) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {150, 190, 14}, {190, 200, 16}}};
    Analysis a = toy.finish(200, {0, 1});
    Finding other = a.findings[0];
    other.id = "swiglu";
    other.verdict = Verdict::AlreadyFused; // in no plan
    other.instances[0].forward = {KernelId(2)};
    other.instances[0].forward_ns = 40 * kUs;
    a.findings.push_back(other);
    MeasuredSet set = measured(a, 50, 20);
    MeasuredResult result = measured(a, 40, 15).results().begin()->second;
    result.finding = other.id;
    result.instance_class = instanceClasses(a, a.findings[1])[0].name;
    set.set(result);
    SelectionSets plan, both, kernel;
    plan.findings = {0};
    both.findings = {0, 1};
    kernel.kernels = {KernelId(3)};

    AfterCache cache;
    const auto first = cache.of(a, set, {}, {});
    ASSERT_TRUE(first);
    EXPECT_DOUBLE_EQ(first->savedNs(), 30 * kUs);
    EXPECT_EQ(cache.of(a, set, kernel, {}), first);
    EXPECT_EQ(cache.of(a, set, plan, {}), first);
    const auto more = cache.of(a, set, both, {});
    ASSERT_TRUE(more);
    EXPECT_DOUBLE_EQ(more->savedNs(), (30 + 25) * kUs);
    EXPECT_EQ(cache.of(a, set, {}, {}), first);
    EXPECT_EQ(cache.of(a, set, both, {}), more);
    cache.forget();
    const auto another = cache.of(a, measured(a, 50, 10), {}, {});
    ASSERT_TRUE(another);
    EXPECT_DOUBLE_EQ(another->savedNs(), 40 * kUs);
}

// Of the kernel behind the finding's two, and of what the step runs elsewhere.
ChosenPtr region(const char* id, std::initializer_list<std::uint32_t> kernels, double forward_us) {
    auto made = std::make_shared<ChosenRegion>();
    made->id = id;
    made->title = "mul, add of mlp";
    made->module = "mlp";
    made->nodes = {"mul", "add"};
    made->work.id = id;
    Instance i;
    for (const std::uint32_t k : kernels) i.forward.emplace_back(k);
    i.forward_ns = forward_us * kUs;
    made->work.instances = {i};
    return made;
}

MeasuredResult of(const Analysis& a, const ChosenRegion& region, double before_us, double after_us) {
    MeasuredResult result = measured(a, before_us, after_us).results().begin()->second;
    result.finding = region.id;
    result.instance_class = instanceClasses(a, region.work)[0].name;
    return result;
}

TEST(After, RegionsOfTheUsersOwnAreFusedAsWell) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {150, 190, 14}, {190, 200, 16}}};
    const Analysis& a = toy.finish(200, {0, 1});
    MeasuredSet set = measured(a, 50, 20);
    const std::vector<ChosenPtr> mine{region("nodes.1", {2}, 40)};
    set.set(of(a, *mine[0], 40, 15));
    const auto after = timelineAfter(a, set, {}, mine);
    ASSERT_TRUE(after);
    EXPECT_DOUBLE_EQ(after->measured_ns, (30 + 25) * kUs);
    EXPECT_DOUBLE_EQ(after->savedNs(), (30 + 25) * kUs);
    ASSERT_EQ(after->places.size(), 2u);
    const FusedPlace& own = after->places[1];
    ASSERT_TRUE(own.region);
    EXPECT_EQ(own.region->title, "mul, add of mlp");
    EXPECT_EQ(own.region->brief, "mul, add");
    EXPECT_EQ(own.begin, (1000 + 120) * kUs);
    EXPECT_EQ(own.end, (1000 + 135) * kUs);
    EXPECT_EQ(after->placeOf(a, a.trace->kernels.slice[2]), &own);
    EXPECT_DOUBLE_EQ(timelineAfter(a, set, {})->savedNs(), 30 * kUs); // without it
}

TEST(After, ARegionInThePlanIsNotFusedTwice) {
    Toy toy{{{100, 120, 10}, {120, 150, 12}, {150, 190, 14}}};
    const Analysis& a = toy.finish(190, {0, 1});
    const std::vector<ChosenPtr> mine{region("nodes.1", {1, 2}, 70)};
    MeasuredSet set;
    set.set(of(a, *mine[0], 70, 20));
    EXPECT_FALSE(timelineAfter(a, set, {}, mine)); // shares a kernel with the plan
    SelectionSets selection;
    selection.pick = {PickKind::Region, numberOf("nodes.1")};
    const auto alone = timelineAfter(a, set, selection, mine);
    ASSERT_TRUE(alone); // selected: what it would give
    EXPECT_DOUBLE_EQ(alone->savedNs(), 50 * kUs);
    MeasuredSet both = measured(a, 50, 20);
    both.set(of(a, *mine[0], 70, 20));
    EXPECT_DOUBLE_EQ(timelineAfter(a, both, selection, mine)->savedNs(), 30 * kUs); // the plan's stands
}

TEST(After, WhatIsNoSingleKernelIsNotDrawnAsOne) {
    ChosenRegion one = *region("nodes.1", {2}, 40);
    one.work.instances[0].nodes = {NodeId(4)};
    EXPECT_TRUE(drawnAsFused(one));
    ChosenRegion swaps = one;
    swaps.fusions = {"rms_norm"};
    EXPECT_FALSE(drawnAsFused(swaps));
    ChosenRegion module = one;
    module.nodes.clear();
    EXPECT_FALSE(drawnAsFused(module));
    ChosenRegion other = one;
    other.other_sizes = "The step ran it at other sizes";
    EXPECT_FALSE(drawnAsFused(other));
    ChosenRegion layers = one;
    layers.work.instances.push_back(one.work.instances[0]);
    EXPECT_FALSE(drawnAsFused(layers)) << "the same nodes twice: runs whose kernels are not told apart";
    layers.work.instances[1].nodes = {NodeId(9)};
    EXPECT_TRUE(drawnAsFused(layers));
}

} // namespace
} // namespace fusescope
