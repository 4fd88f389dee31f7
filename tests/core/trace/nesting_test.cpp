// SPDX-License-Identifier: Apache-2.0
#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <random>

namespace fusescope {
namespace {

CompleteEvent event(Category category, std::string_view name, std::int64_t ts, std::int64_t dur, TrackId track) {
    CompleteEvent e;
    e.category = category;
    e.name = name;
    e.ts = ts;
    e.dur = dur;
    e.track = track;
    return e;
}

TEST(Nesting, ParentsEncloseTheirChildren) {
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    std::mt19937 random(7);
    // A random tree of intervals, pushed in random order.
    std::vector<std::pair<std::int64_t, std::int64_t>> spans{{0, 1'000'000}};
    for (std::size_t i = 0; i < spans.size() && spans.size() < 3000; ++i) {
        std::int64_t at = spans[i].first + static_cast<std::int64_t>(random() % 50);
        while (at + 10 < spans[i].second) {
            const std::int64_t end = std::min(
                spans[i].second, at + 1 + static_cast<std::int64_t>(random()) % (1 + (spans[i].second - at) / 2));
            if (end - at >= 1 && end - at < spans[i].second - spans[i].first) spans.emplace_back(at, end);
            at = end + static_cast<std::int64_t>(random() % 100);
        }
    }
    std::shuffle(spans.begin(), spans.end(), random);
    for (const auto& [begin, end] : spans)
        builder.add(event(Category::CpuOp, "x", begin, end - begin, cpu), CpuOpDetail{});
    const auto built = std::move(builder).finish();
    ASSERT_TRUE(built.ok());
    const TraceStore& t = **built;
    for (std::size_t row = 0; row < t.slices.size(); ++row) {
        if (row > 0) {
            EXPECT_GE(t.slices.ts[row], t.slices.ts[row - 1]);
        }
        const SliceId parent = t.slices.parent[row];
        if (!parent.valid()) continue;
        EXPECT_LE(t.slices.ts[parent.index()], t.slices.ts[row]);
        EXPECT_GE(t.endOf(parent) + 1000, t.endOf(SliceId(row)));
        EXPECT_LT(t.slices.depth[parent.index()], t.slices.depth[row]);
    }
    EXPECT_EQ(t.tracks[0].slices, t.slices.size());
}

TEST(Nesting, APartialOverlapIsASiblingOnAnotherRow) { // ROCm and clock skew: B begins in A and ends long after it
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    builder.add(event(Category::CpuOp, "A", 0, 10'000, cpu), CpuOpDetail{});
    builder.add(event(Category::CpuOp, "B", 5'000, 50'000, cpu), CpuOpDetail{});
    const auto built = std::move(builder).finish();
    ASSERT_TRUE(built.ok());
    EXPECT_FALSE((*built)->slices.parent[1].valid());
    EXPECT_NE((*built)->slices.depth[0], (*built)->slices.depth[1]);
}

TEST(Nesting, SideTablesFollowTheSort) {
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    for (const int ts : {30, 10, 20}) {
        KernelDetail detail;
        detail.registers = static_cast<std::uint16_t>(ts);
        builder.add(event(Category::Kernel, "k", ts, 5, gpu), detail);
        builder.add(event(Category::GpuMemcpy, "c", ts + 6, 1, gpu), CopyDetail{0, 7, static_cast<std::uint64_t>(ts)});
    }
    const auto built = std::move(builder).finish();
    ASSERT_TRUE(built.ok());
    const TraceStore& t = **built;
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(t.kernels.registers[k], t.slices.ts[t.kernels.slice[k].index()]);
        EXPECT_EQ(t.slices.detail[t.kernels.slice[k].index()], k);
        EXPECT_EQ(static_cast<std::int64_t>(t.copies.bytes[k]) + 6, t.slices.ts[t.copies.slice[k].index()]);
    }
}

TEST(Steps, MoreThanTheColumnHoldsAreCounted) {
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    constexpr int kSteps = 32'767 + 5;
    for (int i = 0; i < kSteps; ++i)
        builder.add(event(Category::UserAnnotation, "ProfilerStep#" + std::to_string(i), i * 10, 9, cpu));
    const auto built = std::move(builder).finish();
    ASSERT_TRUE(built.ok());
    EXPECT_EQ((*built)->steps.size(), 32'767U);
    ASSERT_EQ((*built)->problems.size(), 1U);
    EXPECT_EQ((*built)->problems[0].kind, "too_many_steps");
    EXPECT_EQ((*built)->problems[0].count, 5U);
    EXPECT_EQ((*built)->slices.step.back(), -1);
}

TEST(Times, BeyondAnyClockAreCut) {
    TraceBuilder builder;
    const TrackId cpu = builder.track(TrackKind::CpuThread, 1, 1);
    builder.add(event(Category::CpuOp, "early", INT64_MIN, INT64_MAX, cpu));
    builder.add(event(Category::CpuOp, "late", INT64_MAX, INT64_MAX, cpu));
    const auto built = std::move(builder).finish();
    ASSERT_TRUE(built.ok());
    EXPECT_EQ((*built)->problems.at(0).kind, "far_time");
    EXPECT_EQ((*built)->problems.at(0).count, 2U);
    EXPECT_LT((*built)->begin, 0);
    EXPECT_GT((*built)->end - (*built)->begin, 0) << "no overflow";
}

} // namespace
} // namespace fusescope
