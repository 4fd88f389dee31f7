// SPDX-License-Identifier: Apache-2.0
#include "core/draw/timeline_draw.h"
#include "tests/support/synthetic_analysis.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fusescope {
namespace {

using fusescope::testing::syntheticAnalysis;

TEST(TimelineLayout, GpuBelowCpuWithoutOverlap) {
    const AnalysisPtr a = syntheticAnalysis();
    const TimelineLayout layout = timelineLayout(*a, {});
    ASSERT_EQ(layout.rows.size(), 4U);
    EXPECT_FALSE(layout.rows[0].gpu);
    EXPECT_FALSE(layout.rows[1].gpu);
    EXPECT_TRUE(layout.rows[2].gpu);
    EXPECT_EQ(layout.rows[0].label, "thread 415 (python3)");
    EXPECT_EQ(layout.rows[2].label, "GPU annotations");
    EXPECT_EQ(layout.rows[3].label, "stream 7");
    for (std::size_t i = 1; i < layout.rows.size(); ++i)
        EXPECT_GE(layout.rows[i].y, layout.rows[i - 1].y + layout.rows[i - 1].height);
    EXPECT_GE(layout.height, layout.rows.back().y + layout.rows.back().height);
    EXPECT_LT(layout.rows[2].height, layout.rows[3].height); // annotations are thin
}

TEST(TimelineLayout, EmptyTracksAndProfilerSpansAreHidden) {
    Analysis a = testing::syntheticAnalysisValue();
    auto trace = std::make_shared<TraceStore>();
    Track empty;
    empty.kind = TrackKind::CpuThread;
    Track span;
    span.kind = TrackKind::Span;
    span.slices = 1;
    Track used;
    used.kind = TrackKind::CpuThread;
    used.slices = 3;
    used.tid = 99;
    trace->tracks = {empty, span, used};
    a.trace = trace;
    const TimelineLayout layout = timelineLayout(a, {});
    ASSERT_EQ(layout.rows.size(), 1U);
    EXPECT_EQ(layout.rows[0].label, "thread 99");
}

TEST(TimelineLayout, SortIndexDecides) {
    Analysis a;
    auto trace = std::make_shared<TraceStore>();
    for (const std::int64_t sort : {30, 10, 20}) {
        Track track;
        track.kind = TrackKind::CpuThread;
        track.slices = 1;
        track.sort_index = sort;
        track.tid = sort;
        trace->tracks.push_back(track);
    }
    a.trace = trace;
    const TimelineLayout layout = timelineLayout(a, {});
    ASSERT_EQ(layout.rows.size(), 3U);
    EXPECT_EQ(layout.rows[0].label, "thread 10");
    EXPECT_EQ(layout.rows[2].label, "thread 30");
}

TEST(TimelineLayout, TheDeviceIsNamedWhereThereAreSeveral) {
    for (const std::int32_t devices : {1, 2}) {
        Analysis a;
        auto trace = std::make_shared<TraceStore>();
        for (std::int32_t stream = 0; stream < 20'000; ++stream) { // each label once walked all tracks
            Track track;
            track.kind = TrackKind::GpuStream;
            track.slices = 1;
            track.device = stream % devices;
            track.stream = stream;
            trace->tracks.push_back(track);
        }
        a.trace = trace;
        const TimelineLayout layout = timelineLayout(a, {});
        ASSERT_EQ(layout.rows.size(), 20'000U);
        EXPECT_EQ(layout.rows[0].label, devices == 1 ? "stream 0" : "GPU 0 · stream 0");
    }
}

// A thread of Python frames around a few operators, deeper than there is room.
Analysis pythonThread() {
    Analysis a;
    auto trace = std::make_shared<TraceStore>();
    Track track;
    track.kind = TrackKind::CpuThread;
    track.slices = 40;
    track.depths = 20;
    trace->tracks.push_back(track);
    const StringId frame = trace->strings.intern("module.py(1): _call_impl"), op = trace->strings.intern("aten::mul");
    for (std::uint16_t d = 0; d < 20; ++d)
        for (int i = 0; i < 2; ++i) {
            SliceTable& s = trace->slices;
            s.ts.push_back(d);
            s.dur.push_back(100 - d);
            s.name.push_back(d >= 17 ? op : frame);
            s.category.push_back(d >= 17 ? Category::CpuOp : Category::PythonFunction);
            s.track.emplace_back(std::size_t{0});
            s.depth.push_back(d);
            s.detail.push_back(0xFFFFFFFFU);
        }
    a.trace = trace;
    return a;
}

TEST(TimelineLayout, DeepThreadsKeepWhatTells) {
    const Analysis a = pythonThread();
    TimelineOptions options;
    options.depth_limit = 4;
    const TimelineLayout layout = timelineLayout(a, options);
    ASSERT_EQ(layout.rows.size(), 1U);
    const std::vector<std::uint16_t>& shown = layout.rows[0].shown;
    ASSERT_EQ(shown.size(), 4U);
    EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
    for (const std::uint16_t d : std::vector<std::uint16_t>{17, 18, 19})
        EXPECT_TRUE(std::binary_search(shown.begin(), shown.end(), d)) << d;
    EXPECT_EQ(layout.rows[0].depths, 4);
}

TEST(TimelineLayout, CollapsedIsOneRow) {
    const Analysis a = pythonThread();
    EXPECT_EQ(pythonHeavyTracks(a), std::vector<TrackId>{TrackId(std::size_t{0})});
    TimelineOptions options;
    options.collapsed = pythonHeavyTracks(a);
    const TimelineLayout layout = timelineLayout(a, options);
    EXPECT_TRUE(layout.rows[0].collapsed);
    EXPECT_EQ(layout.rows[0].depths, 1);
    EXPECT_EQ(layout.rows[0].height, options.row_height);
}

TEST(TimelineLayout, NoTraceNoRows) {
    testing::SyntheticOptions options;
    options.trace = false;
    EXPECT_TRUE(timelineLayout(*syntheticAnalysis(options), {}).rows.empty());
}

} // namespace
} // namespace fusescope
