// SPDX-License-Identifier: Apache-2.0
// The level-of-detail query against a plain walk over all slices.
#include "core/trace/slice_index.h"

#include "core/trace/trace_builder.h"

#include <gtest/gtest.h>

#include <random>

namespace fusescope {
namespace {

TracePtr randomRow(unsigned seed, int slices, int max_gap, int max_dur) {
    std::mt19937 random(seed);
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    std::int64_t at = 1000;
    for (int i = 0; i < slices; ++i) {
        CompleteEvent e;
        e.category = Category::Kernel;
        e.name = "k";
        e.ts = at;
        e.dur = static_cast<std::int64_t>(random()) % (max_dur + 1);
        e.track = gpu;
        builder.add(e, KernelDetail{});
        at += e.dur + static_cast<std::int64_t>(random()) % (max_gap + 1);
    }
    return *std::move(builder).finish();
}

TEST(SliceIndex, EverySliceIsInExactlyOneSpan) {
    for (unsigned seed = 0; seed < 20; ++seed) {
        const TracePtr trace = randomRow(seed, 5000, seed % 2 == 0 ? 3 : 400, seed % 3 == 0 ? 2000 : 5);
        const SliceIndex index(*trace);
        std::mt19937 random(seed);
        for (int round = 0; round < 20; ++round) {
            const std::int64_t length = trace->end - trace->begin;
            std::int64_t t0 = trace->begin + static_cast<std::int64_t>(random()) % length;
            std::int64_t t1 = t0 + 1 + static_cast<std::int64_t>(random()) % length;
            if (round == 0) {
                t0 = trace->begin;
                t1 = trace->end + 1;
            }
            const int pixels = 1 + static_cast<int>(random() % 1000);
            std::vector<LodSpan> spans;
            index.query(TrackId(std::size_t{0}), 0, t0, t1, pixels, spans);
            ASSERT_LE(spans.size(), 2U * static_cast<std::size_t>(pixels) + 4U);
            std::uint64_t counted = 0;
            for (std::size_t i = 0; i < spans.size(); ++i) {
                counted += spans[i].count;
                if (i > 0) {
                    ASSERT_GE(spans[i].begin, spans[i - 1].begin);
                }
                ASSERT_GE(spans[i].end, spans[i].begin);
            }
            std::uint64_t expected = 0;
            for (std::size_t row = 0; row < trace->slices.size(); ++row) {
                const std::int64_t begin = trace->slices.ts[row], end = trace->endOf(SliceId(row));
                if (trace->slices.depth[row] == 0 && begin < t1 && (begin >= t0 || end > t0)) ++expected;
            }
            ASSERT_EQ(counted, expected) << "seed " << seed << " round " << round;
        }
    }
}

TEST(SliceIndex, AFoldShowsItsLongest) {
    const TracePtr trace = randomRow(3, 4000, 2, 9);
    const SliceIndex index(*trace);
    std::vector<LodSpan> spans;
    index.query(TrackId(std::size_t{0}), 0, trace->begin, trace->end, 10, spans);
    for (const LodSpan& span : spans) {
        std::int64_t longest = 0;
        for (std::size_t row = 0; row < trace->slices.size(); ++row)
            if (trace->slices.depth[row] == 0 && trace->slices.ts[row] >= span.begin &&
                trace->slices.ts[row] < span.end)
                longest = std::max(longest, trace->slices.dur[row]);
        EXPECT_EQ(trace->slices.dur[span.slice.index()], longest);
    }
}

TEST(SliceIndex, TheSliceUnderTheMouse) {
    const TracePtr trace = randomRow(5, 1000, 50, 100);
    const SliceIndex index(*trace);
    for (std::size_t row = 0; row < trace->slices.size(); ++row) {
        const std::int64_t middle = trace->slices.ts[row] + trace->slices.dur[row] / 2;
        const SliceId found = index.at(TrackId(std::size_t{0}), 0, middle);
        ASSERT_TRUE(found.valid());
        EXPECT_LE(trace->slices.ts[found.index()], middle);
        EXPECT_GE(trace->endOf(found), middle);
    }
    EXPECT_FALSE(index.at(TrackId(std::size_t{0}), 0, trace->end + 1000).valid());
    EXPECT_TRUE(index.at(TrackId(std::size_t{0}), 0, trace->end + 10, 20).valid());
    EXPECT_FALSE(index.at(TrackId(std::size_t{9}), 0, 0).valid());
    EXPECT_FALSE(index.at(TrackId(std::size_t{0}), 99, 0).valid());
}

TEST(SliceIndex, OddRanges) {
    const TracePtr trace = randomRow(5, 100, 50, 100);
    const SliceIndex index(*trace);
    std::vector<LodSpan> spans;
    index.query(TrackId(std::size_t{0}), 0, 10, 10, 100, spans);
    index.query(TrackId(std::size_t{0}), 0, 10, 5, 100, spans);
    index.query(TrackId(std::size_t{0}), 0, 0, 10000, 0, spans);
    EXPECT_TRUE(spans.empty());
    index.query(TrackId(std::size_t{0}), 0, INT64_MIN, INT64_MAX, 100, spans);
    EXPECT_FALSE(spans.empty());
}

TEST(SliceIndex, ATickOnTopHidesNothing) { // a kernel without duration inside another one
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    for (const auto& [ts, dur] : {std::pair<std::int64_t, std::int64_t>{1000, 5000}, {2000, 0}, {3000, 0}}) {
        CompleteEvent e;
        e.category = Category::Kernel;
        e.name = "k";
        e.ts = ts;
        e.dur = dur;
        e.track = gpu;
        builder.add(e, KernelDetail{});
    }
    const TracePtr trace = *std::move(builder).finish();
    const SliceIndex index(*trace);
    std::vector<LodSpan> spans;
    index.query(TrackId(std::size_t{0}), 0, 4000, 4100, 100, spans);
    ASSERT_FALSE(spans.empty());
    EXPECT_EQ(spans[0].slice, SliceId(std::size_t{0}));
    EXPECT_EQ(index.at(TrackId(std::size_t{0}), 0, 4000), SliceId(std::size_t{0}));
    EXPECT_EQ(index.at(TrackId(std::size_t{0}), 0, 2000), SliceId(std::size_t{1}));
}

// More slices at once than there are rows: the last row holds the rest, over each other.
TEST(SliceIndex, ACrowdInTheLastRowIsOneSpan) {
    TraceBuilder builder;
    const TrackId gpu = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    constexpr int kSlices = 10'000;
    for (int i = 0; i < kSlices; ++i) {
        CompleteEvent e;
        e.category = Category::Kernel;
        e.name = "k";
        e.ts = 1000;
        e.dur = 500 + i;
        e.track = gpu;
        builder.add(e, KernelDetail{});
    }
    const auto trace = std::move(builder).finish();
    ASSERT_TRUE(trace.ok());
    const std::uint16_t rows = (*trace)->tracks[0].depths;
    EXPECT_EQ(rows, 2048);
    const SliceIndex index(**trace);
    std::vector<LodSpan> spans;
    index.query(TrackId(std::size_t{0}), 0, 0, 20'000, 1000, spans);
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].count, 1U);
    spans.clear();
    index.query(TrackId(std::size_t{0}), static_cast<std::uint16_t>(rows - 1), 0, 20'000, 1000, spans);
    ASSERT_EQ(spans.size(), 1U);
    EXPECT_EQ(spans[0].count, static_cast<std::uint32_t>(kSlices - (rows - 1)));
}

} // namespace
} // namespace fusescope
