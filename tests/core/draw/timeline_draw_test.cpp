// SPDX-License-Identifier: Apache-2.0
#include "core/draw/svg.h"
#include "core/draw/timeline_draw.h"
#include "core/trace/trace_builder.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>

namespace fusescope {
namespace {

using fusescope::testing::syntheticAnalysis;

struct Scene {
    AnalysisPtr analysis;
    TimelineLayout layout;
    TimelineView view;
};

Scene wholeStep() {
    Scene s;
    s.analysis = syntheticAnalysis();
    s.layout = timelineLayout(*s.analysis, {});
    const StepStats& step = s.analysis->steps.back();
    s.view.t0 = step.begin;
    s.view.t1 = step.end;
    s.view.width = 1600;
    s.view.height = s.layout.height;
    return s;
}

std::size_t fills(const DrawList& list, ColourRole role) {
    return static_cast<std::size_t>(std::count_if(list.rects.begin(), list.rects.end(),
                                                  [&](const DrawRect& r) { return r.filled && r.fill == role; }));
}

TEST(TimelineDraw, KernelsTakeTheColourOfTheirKind) {
    const Scene s = wholeStep();
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    for (const ColourRole role :
         {ColourRole::KindAttention, ColourRole::KindMatmul, ColourRole::KindNorm, ColourRole::KindOptimizer,
          ColourRole::Launch, ColourRole::CpuOp, ColourRole::Annotation})
        EXPECT_GT(fills(list, role), 0U) << nameOf(role);
}

TEST(TimelineDraw, MeasuredRegionsAreFusedOverAGhost) {
    const Scene s = wholeStep();
    const Finding& finding = s.analysis->findings[0];
    const TimelineFused fused{{0, 1, nullptr}, 2'000, -1}; // the forward of one instance
    const DrawList before = drawTimeline(*s.analysis, s.layout, s.view, {});
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {}, {&fused, 1});
    // Two for each kernel's ghost, one for the fused kernel.
    ASSERT_EQ(list.rects.size(), before.rects.size() + 2 * finding.instances[1].forward.size() + 1);
    const DrawRect& rect = list.rects.back();
    EXPECT_EQ(rect.stroke, ColourRole::Good);
    EXPECT_EQ(rect.pick, (Pick{PickKind::Instance, 1}));
    const SliceId first = s.analysis->trace->kernels.slice[finding.instances[1].forward.front().index()];
    const double pixels = s.view.width / static_cast<double>(s.view.t1 - s.view.t0);
    EXPECT_NEAR(rect.x, static_cast<double>(s.analysis->trace->slices.ts[first.index()] - s.view.t0) * pixels, 1e-6);
    EXPECT_NEAR(rect.width, std::max(2.0, 2'000 * pixels), 1e-6);
    EXPECT_EQ(std::count_if(list.rects.begin(), list.rects.end(), [](const DrawRect& r) { return r.dashed; }),
              static_cast<std::ptrdiff_t>(finding.instances[1].forward.size()));
    const TimelineFused nothing{{0, 1, nullptr}, -1, -1}, outside{{99, 0, nullptr}, 1, 1};
    for (const TimelineFused& one : {nothing, outside})
        EXPECT_EQ(drawTimeline(*s.analysis, s.layout, s.view, {}, {&one, 1}).rects.size(), before.rects.size());
    EXPECT_EQ(testing::xmlProblem(svgText(drawTimelinePicture(*s.analysis, 1000, {&fused, 1}), Theme::Dark)), "");
}

TEST(TimelineDraw, ItemsAreBoundedByPixelsNotByTheTrace) {
    Scene s = wholeStep();
    s.view.t0 = s.analysis->trace->begin;
    s.view.t1 = s.analysis->trace->end;
    s.view.width = 100;
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    std::size_t lines = 0;
    for (const TimelineRow& row : s.layout.rows) lines += row.shown.size();
    EXPECT_LT(list.rects.size(), lines * 110);
    EXPECT_TRUE(std::any_of(list.rects.begin(), list.rects.end(), [](const DrawRect& r) { return r.hatched; }));
}

// A starved stream must not look full when its short kernels are folded.
TEST(TimelineDraw, FoldedKernelsStandAsHighAsTheGpuIsBusy) {
    auto trace = std::make_shared<TraceStore>();
    Track stream;
    stream.kind = TrackKind::GpuStream;
    stream.depths = 1;
    stream.slices = 10'000;
    trace->tracks.push_back(stream);
    const StringId name = trace->strings.intern("kernel");
    for (std::int64_t i = 0; i < 10'000; ++i) { // 2 µs of work in every 10 µs
        SliceTable& s = trace->slices;
        s.ts.push_back(1 + i * 10'000);
        s.dur.push_back(2'000);
        s.name.push_back(name);
        s.category.push_back(Category::Kernel);
        s.track.emplace_back(std::size_t{0});
        s.depth.push_back(0);
        s.detail.push_back(0xFFFFFFFFU);
    }
    trace->begin = 1;
    trace->end = 100'000'000;
    Analysis a;
    a.trace = trace;
    a.index = std::make_shared<const SliceIndex>(*trace);
    const TimelineLayout layout = timelineLayout(a, {});
    TimelineView view;
    view.t0 = trace->begin;
    view.t1 = trace->end;
    view.width = 500;
    view.height = layout.height;
    std::size_t folded = 0;
    for (const DrawRect& r : drawTimeline(a, layout, view, {}).rects) {
        if (!r.hatched || r.fill != ColourRole::KindOther) continue;
        ++folded;
        EXPECT_NEAR(r.height, 16 * 0.2, 1.1);
        EXPECT_NEAR(r.y + r.height, layout.rows[0].y + 16, 0.01); // on the ground of its row
    }
    EXPECT_GT(folded, 100U);
    double tallest = 0;
    for (const DrawRect& r : drawMinimap(a, 500, 44).rects)
        if (r.fill == ColourRole::KindOther) tallest = std::max(tallest, r.height);
    EXPECT_LE(tallest, 40 * 0.3);
}

TEST(TimelineDraw, EverythingStaysInTheView) {
    Scene s = wholeStep();
    s.view.t0 += 3'000'000; // in the middle of long kernels
    s.view.t1 = s.view.t0 + 200'000;
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    EXPECT_FALSE(list.rects.empty());
    for (const DrawRect& r : list.rects) {
        EXPECT_GE(r.x, -9) << dump(list);
        EXPECT_LE(r.x + r.width, s.view.width + 10);
    }
    for (const DrawText& t : list.texts) EXPECT_GE(t.x, 0); // labels stay in sight while their box is partly outside
}

TEST(TimelineDraw, TextOnlyWhereThereIsRoom) {
    const Scene s = wholeStep();
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    for (const DrawText& t : list.texts) {
        if (t.pick.kind == PickKind::None) continue; // of idle gaps
        EXPECT_GE(t.max_width, 20) << t.text;
    }
}

// An operator inside another: one row for both shows one name.
TEST(TimelineDraw, ACollapsedRowDrawsNoNameOverAnother) {
    auto trace = std::make_shared<TraceStore>();
    Track thread;
    thread.kind = TrackKind::CpuThread;
    thread.depths = 2;
    thread.slices = 3;
    trace->tracks.push_back(thread);
    const auto add = [&](const char* name, std::int64_t ts, std::int64_t dur, std::uint16_t depth) {
        SliceTable& s = trace->slices;
        s.ts.push_back(ts);
        s.dur.push_back(dur);
        s.name.push_back(trace->strings.intern(name));
        s.category.push_back(Category::CpuOp);
        s.track.emplace_back(std::size_t{0});
        s.depth.push_back(depth);
        s.detail.push_back(0xFFFFFFFFU);
    };
    add("autograd::engine::evaluate_function", 1'000, 500'000, 0);
    add("CompiledFunctionBackward", 2'000, 490'000, 1);
    add("AccumulateGrad", 600'000, 300'000, 0);
    trace->begin = 1;
    trace->end = 1'000'000;
    Analysis a;
    a.trace = trace;
    a.index = std::make_shared<const SliceIndex>(*trace);
    TimelineOptions options;
    options.collapsed = {TrackId(std::size_t{0})};
    const TimelineLayout layout = timelineLayout(a, options);
    ASSERT_EQ(layout.rows.size(), 1U);
    TimelineView view;
    view.t0 = trace->begin;
    view.t1 = trace->end;
    view.width = 1000;
    view.height = layout.height;
    std::vector<std::string> names;
    for (const DrawText& t : drawTimeline(a, layout, view, {}).texts) names.push_back(t.text);
    EXPECT_EQ(names, (std::vector<std::string>{"autograd::engine::evaluate_function", "AccumulateGrad"}));
}

TEST(TimelineDraw, FlagsStandUnderTheKernelsOfTheFinding) {
    const Scene s = wholeStep();
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    const TimelineRow& stream = s.layout.rows.back();
    std::size_t bars = 0, outlines = 0;
    for (const DrawRect& r : list.rects) {
        if (r.filled && r.fill == ColourRole::Flagged) {
            ++bars;
            EXPECT_GE(r.y, stream.y + stream.line_height);
            EXPECT_TRUE(r.pick.kind == PickKind::Instance || r.pick.kind == PickKind::Finding);
        }
        if (!r.filled && r.stroke == ColourRole::Flagged) ++outlines;
    }
    EXPECT_GT(bars, 0U);
    EXPECT_GT(outlines, 0U);
    const auto labelled = std::any_of(list.texts.begin(), list.texts.end(), [](const DrawText& t) {
        return t.text == catalogEntry(Pattern::Attention).title;
    });
    EXPECT_TRUE(labelled);
}

TEST(TimelineDraw, NotBeneficialIsNotFlagged) {
    Analysis a = testing::syntheticAnalysisValue();
    for (Finding& f : a.findings) f.verdict = Verdict::NotBeneficial;
    a.plan = {};
    Scene s = wholeStep();
    const DrawList list = drawTimeline(a, s.layout, s.view, {});
    EXPECT_EQ(fills(list, ColourRole::Flagged), 0U);
    // Once measured it may be.
    std::vector<std::uint32_t> marked{0};
    EXPECT_GT(fills(drawTimeline(a, s.layout, s.view, {}, {}, nullptr, &marked), ColourRole::Flagged), 0U);
    marked.clear();
    const Analysis worth = testing::syntheticAnalysisValue();
    EXPECT_GT(fills(drawTimeline(worth, s.layout, s.view, {}), ColourRole::Flagged), 0U);
    EXPECT_EQ(fills(drawTimeline(worth, s.layout, s.view, {}, {}, nullptr, &marked), ColourRole::Flagged), 0U);
}

TEST(TimelineDraw, AdjacentKernelsOfAnInstanceAreOneMark) {
    Analysis a = testing::syntheticAnalysisValue();
    a.findings.erase(std::remove_if(a.findings.begin(), a.findings.end(),
                                    [](const Finding& f) { return f.pattern != Pattern::Attention; }),
                     a.findings.end());
    a.findings[0].instances.resize(1);
    a.findings[0].instances[0].backward.clear();
    Scene s = wholeStep();
    const DrawList list = drawTimeline(a, s.layout, s.view, {});
    EXPECT_EQ(fills(list, ColourRole::Flagged), 1U); // five kernels, one bar
}

TEST(TimelineDraw, IdleIsVisible) {
    const Scene s = wholeStep();
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    EXPECT_GT(fills(list, ColourRole::BoundIdle), 0U);
    testing::SyntheticOptions busy;
    busy.shuffle_idle = false;
    const AnalysisPtr b = syntheticAnalysis(busy);
    Scene t = wholeStep();
    t.view.t0 = b->steps.back().begin;
    t.view.t1 = b->steps.back().end;
    EXPECT_EQ(fills(drawTimeline(*b, t.layout, t.view, {}), ColourRole::BoundIdle), 0U);
}

// Two ranks in one file, both with a GPU that they call 0: 10 us of work at 0 and 90 of each one's step of 100 us,
// which of the second begins at 20 and is in nothing the first one's.
TEST(TimelineDraw, OfMergedRanksEachIdlesInItsOwnSteps) {
    TraceBuilder builder;
    for (const std::int64_t pid : {100, 200}) {
        const std::int64_t begin = pid == 100 ? 0 : 20'000;
        const TrackId cpu = builder.track(TrackKind::CpuThread, pid, 1),
                      gpu = builder.track(TrackKind::GpuStream, pid + 1, 7, 0, 7);
        builder.add({Category::UserAnnotation, "ProfilerStep#1", begin, 100'000, cpu, 0, 0, 0, 0});
        for (const std::int64_t at : {begin, begin + 90'000}) {
            const auto id = static_cast<std::uint32_t>(pid + at / 1000);
            builder.add({Category::CudaRuntime, "cudaLaunchKernel", at, 100, cpu, id, 0, 0, 0});
            builder.add({Category::Kernel, "k", at, 10'000, gpu, id, 0, 0, 0}, KernelDetail{});
        }
    }
    auto trace = std::move(builder).finish();
    ASSERT_TRUE(trace.ok());
    Analysis a;
    a.trace = *trace;
    a.index = std::make_shared<const SliceIndex>(**trace);
    for (const Step& step : a.trace->steps) {
        StepStats& stats = a.steps.emplace_back();
        stats.begin = step.begin;
        stats.end = step.end;
    }
    a.step = 0;
    TimelineView view;
    view.t0 = 0;
    view.t1 = 120'000;
    view.width = 1200;
    view.height = 600;
    const TimelineLayout layout = timelineLayout(a, {});
    const DrawList list = drawTimeline(a, layout, view, {});
    std::vector<double> idle; // left, width: 100 us are 1000 pixels
    for (const DrawRect& r : list.rects)
        if (r.fill == ColourRole::BoundIdle) idle.insert(idle.end(), {r.x, r.width});
    EXPECT_EQ(idle, (std::vector<double>{100, 800, 300, 800}));
    ASSERT_EQ(layout.rows.size(), 4U);
    EXPECT_EQ(layout.rows[2].label, "pid 100 · stream 7");
    EXPECT_EQ(layout.rows[3].label, "pid 200 · stream 7");
}

TEST(TimelineDraw, SelectionStandsOutAndTheRestIsDimmed) {
    const Scene s = wholeStep();
    SelectionSets selection;
    selection.pick = {PickKind::Finding, 0};
    selection.findings = {0};
    for (const Instance& i : s.analysis->findings[0].instances)
        selection.kernels.insert(selection.kernels.end(), i.forward.begin(), i.forward.end());
    std::sort(selection.kernels.begin(), selection.kernels.end());
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, selection);
    std::size_t selected = 0, dimmed = 0;
    for (const DrawRect& r : list.rects) {
        if (r.layer != 0) continue;
        if (r.emphasis == Emphasis::Selected) {
            ++selected;
            EXPECT_TRUE(r.fill == ColourRole::KindAttention || r.fill == ColourRole::Launch ||
                        r.fill == ColourRole::CpuOp || r.hatched)
                << nameOf(r.fill);
        }
        if (r.emphasis == Emphasis::Dimmed) ++dimmed;
    }
    EXPECT_GE(selected, selection.kernels.size());
    EXPECT_GT(dimmed, selected);
}

TEST(TimelineDraw, SliceAtFindsWhatIsDrawn) {
    const Scene s = wholeStep();
    const DrawList list = drawTimeline(*s.analysis, s.layout, s.view, {});
    std::size_t checked = 0;
    for (const DrawRect& r : list.rects) {
        if (r.pick.kind != PickKind::Kernel || r.layer != 0 || r.width < 6 || r.hatched) continue;
        const SliceId slice = sliceAt(*s.analysis, s.layout, s.view, r.x + r.width / 2, r.y + 4);
        ASSERT_TRUE(slice.valid());
        EXPECT_EQ(slice, s.analysis->trace->kernels.slice[r.pick.id]);
        ++checked;
    }
    EXPECT_GT(checked, 8U);
    EXPECT_FALSE(sliceAt(*s.analysis, s.layout, s.view, -5, 5).valid());
    EXPECT_FALSE(sliceAt(*s.analysis, s.layout, s.view, 5, 1e9).valid());
    EXPECT_FALSE(sliceAt(*s.analysis, s.layout, s.view, std::numeric_limits<double>::quiet_NaN(), 5).valid());
}

TEST(TimelineDraw, OddViewsDrawNothingBad) {
    const Scene s = wholeStep();
    constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                           most = std::numeric_limits<std::int64_t>::max();
    for (const auto& [t0, t1] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 0}, {5, 1}, {least, most}, {0, most}, {least, least + 1}}) {
        TimelineView view = s.view;
        view.t0 = t0;
        view.t1 = t1;
        EXPECT_EQ(testing::xmlProblem(svgText(drawTimeline(*s.analysis, s.layout, view, {}), Theme::Light)), "");
        EXPECT_EQ(testing::xmlProblem(svgText(drawRuler(0, view, 24), Theme::Light)), "");
        static_cast<void>(sliceAt(*s.analysis, s.layout, view, 10, 10));
    }
    TimelineView narrow = s.view;
    narrow.width = 0;
    EXPECT_TRUE(drawTimeline(*s.analysis, s.layout, narrow, {}).rects.empty());
}

TEST(Ruler, TicksAreNiceAndApart) {
    TimelineView view;
    view.width = 1000;
    for (const std::int64_t span : {100LL, 12'345LL, 1'000'000LL, 89'500'000LL, 3'600'000'000'000LL}) {
        view.t0 = 5'105'189'000'000'000;
        view.t1 = view.t0 + span;
        const DrawList list = drawRuler(view.t0, view, 24);
        EXPECT_GE(list.texts.size(), 3U) << span;
        EXPECT_LE(list.texts.size(), 15U) << span;
        std::set<std::string> seen;
        double last = -1e9;
        for (const DrawText& t : list.texts) {
            EXPECT_TRUE(seen.insert(t.text).second) << t.text; // no two ticks say the same
            EXPECT_GE(t.x - last, 60) << t.text;
            last = t.x;
        }
    }
}

// Under the mouse, the next pixel must read otherwise.
TEST(Ruler, TheTimeAtTheMouseFollowsTheZoom) {
    TimelineView view;
    view.width = 1000;
    view.t0 = 120'000'000;
    view.t1 = view.t0 + 100'000'000; // 0.1 ms a pixel
    EXPECT_EQ(rulerTime(0, 120'034'567, view), "120.0 ms");
    view.t1 = view.t0 + 50'000; // 50 ns a pixel
    EXPECT_EQ(rulerTime(0, 120'034'567, view), "120.03457 ms");
    EXPECT_NE(rulerTime(0, 120'034'567, view), rulerTime(0, 120'034'567 + 50, view));
    EXPECT_EQ(rulerTime(0, 0, view), "0");
    view.t1 = view.t0;
    EXPECT_EQ(rulerTime(0, 5, view), "");
}

TEST(Ruler, LabelsCountFromTheOrigin) {
    TimelineView view;
    view.width = 1000;
    view.t0 = 1'000'000;
    view.t1 = 2'000'000;
    const DrawList list = drawRuler(1'000'000, view, 24);
    ASSERT_FALSE(list.texts.empty());
    EXPECT_EQ(list.texts[0].text, "0");
    EXPECT_EQ(list.texts[1].text, "0.1 ms");
}

TEST(Minimap, ShowsWorkAndSteps) {
    const AnalysisPtr a = syntheticAnalysis();
    const DrawList list = drawMinimap(*a, 800, 40);
    EXPECT_GT(fills(list, ColourRole::KindMatmul), 0U);
    EXPECT_EQ(list.lines.size(), 2U);
    EXPECT_LE(list.rects.size(), 800U + 8U);
    for (const DrawRect& r : list.rects) EXPECT_LE(r.y + r.height, 40);
    EXPECT_TRUE(drawMinimap({}, 800, 40).rects.empty());
}

TEST(TimelinePicture, WellFormedWithLabelsAndLegend) {
    const DrawList list = drawTimelinePicture(*syntheticAnalysis(), 1000);
    EXPECT_EQ(testing::xmlProblem(svgText(list, Theme::Light)), "");
    std::set<std::string> texts;
    for (const DrawText& t : list.texts) texts.insert(t.text);
    for (const char* wanted : {"stream 7", "matmul", "worth fusing", "0"}) EXPECT_TRUE(texts.count(wanted)) << wanted;
    EXPECT_FALSE(drawTimelinePicture({}, 1000).texts.empty()); // says why there is nothing
}

} // namespace
} // namespace fusescope
