// SPDX-License-Identifier: Apache-2.0
// The timeline with measured fusions in it. Places in pixels are worked out from recorded times and what is moved.
#include "core/draw/svg.h"
#include "core/draw/timeline_draw.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace fusescope {
namespace {

// The second instance of the first finding, forward, takes a quarter of its time; what follows moves up.
struct Scene {
    AnalysisPtr analysis = testing::syntheticAnalysis();
    TimelineLayout layout = timelineLayout(*analysis, {});
    TimelineView view;
    TimelineAfter after;
    SliceId first, last, next, launch; // of the region; what follows it in the step
    std::int64_t saved = 0;

    Scene() {
        const TraceStore& trace = *analysis->trace;
        const auto step = static_cast<std::size_t>(analysis->step);
        view.t0 = analysis->steps[step].begin;
        view.t1 = analysis->steps[step].end;
        view.width = 1600;
        view.height = layout.height;
        const std::vector<KernelId>& region = analysis->findings[0].instances[1].forward;
        first = trace.kernels.slice[region.front().index()];
        last = trace.kernels.slice[region.back().index()];
        next = trace.kernels.slice[region.back().index() + 1];
        const std::int64_t begin = trace.slices.ts[first.index()], end = trace.endOf(last);
        const std::int64_t fused = (end - begin) / 4;
        saved = end - begin - fused;
        for (const KernelId kernel : region) after.removed.push_back(trace.kernels.slice[kernel.index()]);
        after.begin = view.t0;
        after.recorded_end = view.t1;
        after.end = view.t1 - saved;
        after.measured_ns = static_cast<double>(saved);
        TimeMap& gpu = after.gpus.emplace_back(DeviceTimes{device(), {}}).map;
        gpu.add(view.t0, view.t0);
        gpu.add(begin, begin);
        gpu.add(end, begin + fused);
        gpu.add(view.t1, after.end);
        gpu.add(view.t1, view.t1);
        FusedPlace place;
        place.instance = 1;
        place.track = trace.slices.track[first.index()];
        place.fused_ns = static_cast<double>(fused);
        place.begin = begin;
        place.end = begin + fused;
        place.recorded_begin = begin;
        place.recorded_end = end;
        after.places = {place};
    }
    [[nodiscard]] std::int32_t device() const {
        return analysis->trace->tracks[analysis->trace->slices.track[first.index()].index()].device;
    }
    [[nodiscard]] DrawList draw(const SelectionSets& selection = {}) const {
        return drawTimeline(*analysis, layout, view, selection, {}, &after);
    }
    [[nodiscard]] double x(std::int64_t t) const {
        return static_cast<double>(t - view.t0) * view.width / static_cast<double>(view.t1 - view.t0);
    }
    [[nodiscard]] double rowMiddle() const {
        const auto row = std::find_if(layout.rows.begin(), layout.rows.end(), [&](const TimelineRow& r) {
            return r.track == analysis->trace->slices.track[first.index()];
        });
        return row->y + row->line_height / 2;
    }
};

const DrawRect* kernelBox(const Scene& s, const DrawList& list, SliceId slice) {
    const Pick pick{PickKind::Kernel, s.analysis->trace->slices.detail[slice.index()]};
    const auto at =
        std::find_if(list.rects.begin(), list.rects.end(), [&](const DrawRect& r) { return r.pick == pick; });
    return at == list.rects.end() ? nullptr : &*at;
}

TEST(TimelineAfter, LaterWorkIsDrawnWhereItMoved) {
    Scene s;
    const TraceStore& trace = *s.analysis->trace;
    // Close enough that each kernel is a box of its own.
    s.view.t0 = trace.slices.ts[s.first.index()] - 20'000;
    s.view.t1 = trace.endOf(s.next) + 20'000;
    const DrawList before = drawTimeline(*s.analysis, s.layout, s.view, {}), list = s.draw();
    ASSERT_NE(kernelBox(s, before, s.first), nullptr);
    EXPECT_EQ(kernelBox(s, list, s.first), nullptr); // replaced
    EXPECT_EQ(kernelBox(s, list, s.last), nullptr);
    const DrawRect *was = kernelBox(s, before, s.next), *is = kernelBox(s, list, s.next);
    ASSERT_NE(was, nullptr);
    ASSERT_NE(is, nullptr);
    EXPECT_NEAR(is->x, s.x(trace.slices.ts[s.next.index()] - s.saved), 1e-6);
    EXPECT_NEAR(is->width, was->width, 1e-6);
    // The fused kernel, and the outline of what it replaces.
    const FusedPlace& place = s.after.places[0];
    const Pick pick{PickKind::Instance, 1};
    const auto fused = std::find_if(list.rects.begin(), list.rects.end(),
                                    [&](const DrawRect& r) { return r.pick == pick && r.filled && r.layer == 2; });
    ASSERT_NE(fused, list.rects.end());
    EXPECT_NEAR(fused->x, s.x(place.begin), 1e-6);
    EXPECT_NEAR(fused->width, s.x(place.end) - s.x(place.begin), 1e-6);
    const auto ghost = std::find_if(list.rects.begin(), list.rects.end(),
                                    [&](const DrawRect& r) { return r.pick == pick && r.dashed && !r.filled; });
    ASSERT_NE(ghost, list.rects.end());
    EXPECT_NEAR(ghost->x, s.x(place.recorded_begin), 1e-6);
    EXPECT_NEAR(ghost->width, s.x(place.recorded_end) - s.x(place.recorded_begin), 1e-6);
    // The region is not marked as worth fusing any more.
    const auto marks = [&](const DrawList& l) {
        return std::count_if(l.rects.begin(), l.rects.end(),
                             [&](const DrawRect& r) { return r.pick == pick && r.fill == ColourRole::Flagged; });
    };
    EXPECT_GT(marks(before), 0);
    EXPECT_EQ(marks(list), 0);
}

// A fused region often begins with a copy: its colour is that of the work.
TEST(TimelineAfter, TheFusedKernelHasTheColourOfMostOfItsRegion) {
    Scene s;
    Analysis analysis = *s.analysis;
    const std::vector<KernelId>& region = analysis.findings[0].instances[1].forward; // attention, five kernels
    ASSERT_GE(region.size(), 3U);
    analysis.link.kernels[region.front().index()].kind = OpKind::Copy;
    const Pick pick{PickKind::Instance, 1};
    const auto fill = [&](const DrawList& list) {
        const auto at = std::find_if(list.rects.begin(), list.rects.end(),
                                     [&](const DrawRect& r) { return r.pick == pick && r.filled && r.layer == 2; });
        return at == list.rects.end() ? ColourRole::Count_ : at->fill;
    };
    EXPECT_EQ(fill(drawTimeline(analysis, s.layout, s.view, {}, {}, &s.after)), ColourRole::KindAttention);
    // The overview, too: where the fused kernel is, nothing is a copy.
    const double width = 1200, scale = width / static_cast<double>(analysis.trace->end - analysis.trace->begin);
    const double from = static_cast<double>(s.after.places[0].begin - analysis.trace->begin) * scale,
                 to = static_cast<double>(s.after.places[0].end - analysis.trace->begin) * scale;
    ASSERT_GT(to - from, 4);
    bool seen = false;
    for (const DrawRect& r : drawMinimap(analysis, width, 32, &s.after).rects) {
        if (r.x + r.width <= from + 1 || r.x >= to - 1) continue;
        EXPECT_NE(r.fill, ColourRole::KindCopy);
        seen = seen || r.fill == ColourRole::KindAttention;
    }
    EXPECT_TRUE(seen);
    TimelineFused one;
    one.instance = 1;
    one.forward_ns = 1e6;
    EXPECT_EQ(fill(drawTimeline(analysis, s.layout, s.view, {}, std::span(&one, 1))), ColourRole::KindAttention);
}

// Six short norm kernels that one kernel of 3 ms replaces (slower), in a view that folds them with their neighbours:
// the run must not be stretched over the fused box.
TEST(TimelineAfter, AFoldedRunLeavesTheFusedBoxFree) {
    Scene s;
    const TraceStore& trace = *s.analysis->trace;
    const auto norm = std::find_if(s.analysis->findings.begin(), s.analysis->findings.end(),
                                   [](const Finding& f) { return f.pattern == Pattern::RmsNorm; });
    ASSERT_NE(norm, s.analysis->findings.end());
    const std::vector<KernelId>& region = norm->instances[1].forward;
    constexpr std::int64_t kFused = 3'000'000;
    const std::int64_t begin = trace.slices.ts[trace.kernels.slice[region.front().index()].index()],
                       end = trace.endOf(trace.kernels.slice[region.back().index()]), more = kFused - (end - begin);
    s.after = {};
    for (const KernelId kernel : region) s.after.removed.push_back(trace.kernels.slice[kernel.index()]);
    s.after.begin = s.view.t0;
    s.after.recorded_end = s.view.t1;
    s.after.end = s.view.t1 + more;
    TimeMap& gpu = s.after.gpus.emplace_back(DeviceTimes{s.device(), {}}).map;
    gpu.add(s.view.t0, s.view.t0);
    gpu.add(begin, begin);
    gpu.add(end, begin + kFused);
    gpu.add(s.view.t1, s.after.end);
    FusedPlace place;
    place.finding = static_cast<std::uint32_t>(norm - s.analysis->findings.begin());
    place.instance = 1;
    place.track = trace.slices.track[s.first.index()];
    place.fused_ns = static_cast<double>(kFused);
    place.begin = place.recorded_begin = begin;
    place.end = begin + kFused;
    place.recorded_end = end;
    s.after.places = {place};
    for (const double width : {200.0, 400.0, 600.0, 800.0}) {
        s.view.width = width;
        const double left = s.x(place.begin), right = s.x(place.end), y = s.rowMiddle();
        ASSERT_GT(right - left, 4) << width;
        for (const DrawRect& r : s.draw().rects) {
            if (r.pick.kind != PickKind::Kernel || r.y > y || r.y + r.height < y) continue;
            EXPECT_TRUE(r.x + r.width <= left + 2.5 || r.x >= right - 2.5) << width << ": " << r.x;
        }
    }
}

TEST(TimelineAfter, TheStepsNewEndIsMarked) {
    const Scene s;
    const DrawList list = s.draw();
    const std::string words = afterText(s.after);
    EXPECT_EQ(words.substr(0, 5), "step ");
    EXPECT_TRUE(std::any_of(list.texts.begin(), list.texts.end(), [&](const DrawText& t) { return t.text == words; }));
    const auto line = [&](double x) {
        return std::any_of(list.lines.begin(), list.lines.end(), [&](const DrawLine& l) {
            return l.stroke == ColourRole::Good && std::abs(l.points[0].first - x) < 1e-6;
        });
    };
    EXPECT_TRUE(line(s.x(s.after.end)));
    EXPECT_TRUE(line(s.x(s.after.recorded_end)));
    EXPECT_EQ(testing::xmlProblem(svgText(drawTimelinePicture(*s.analysis, 1000, {}, &s.after), Theme::Dark)), "");
}

TEST(TimelineAfter, AClickFindsWhatIsDrawnThere) {
    const Scene s;
    const TraceStore& trace = *s.analysis->trace;
    const std::int64_t middle = trace.slices.ts[s.next.index()] + trace.slices.dur[s.next.index()] / 2;
    EXPECT_EQ(sliceAt(*s.analysis, s.layout, s.view, s.x(middle - s.saved), s.rowMiddle(), &s.after), s.next);
    EXPECT_EQ(sliceAt(*s.analysis, s.layout, s.view, s.x(middle), s.rowMiddle()), s.next);
}

TEST(TimelineAfter, ASelectedRegionShowsItsWay) {
    Scene s;
    // As if work before it had been fused too.
    s.after.places[0].begin -= s.saved;
    s.after.places[0].end -= s.saved;
    s.view.t0 = s.after.places[0].begin - 10'000;
    s.view.t1 = s.after.places[0].recorded_end + 10'000;
    const auto arrows = [](const DrawList& list) {
        return std::count_if(list.lines.begin(), list.lines.end(), [](const DrawLine& l) { return l.arrow; });
    };
    EXPECT_EQ(arrows(s.draw()), 0);
    EXPECT_EQ(arrows(s.draw(select(*s.analysis, {PickKind::Instance, 1}))), 1);
    EXPECT_EQ(arrows(s.draw(select(*s.analysis, {PickKind::Instance, 0}))), 0);
}

TEST(TimelineAfter, HeldSavingsAreTold) {
    Scene s;
    EXPECT_EQ(afterHeldText(s.after), "");
    s.after.measured_ns *= 2;
    EXPECT_NE(afterHeldText(s.after).find("later work waits"), std::string::npos);
}

} // namespace
} // namespace fusescope
