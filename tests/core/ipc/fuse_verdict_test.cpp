// SPDX-License-Identifier: Apache-2.0
#include "core/ipc/fuse_verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fusescope {
namespace {

Comparison comparison(Spread baseline, Spread fused) {
    Comparison one;
    one.direction = "forward";
    one.has_fused = true;
    one.baseline.us = baseline;
    one.fused.us = fused;
    return one;
}

TEST(FuseVerdict, Speed) {
    EXPECT_EQ(judge(comparison({100, 98, 103}, {50, 49, 52}), true).speed, SpeedVerdict::Faster);
    EXPECT_EQ(judge(comparison({100, 98, 103}, {95, 90, 99}), true).speed, SpeedVerdict::NotFaster); // they overlap
    EXPECT_EQ(judge(comparison({100, 99.9, 100.1}, {99.5, 99.4, 99.6}), true).speed, SpeedVerdict::NotFaster); // 0.5%
    EXPECT_EQ(judge(comparison({100, 98, 103}, {120, 115, 125}), true).speed, SpeedVerdict::Slower);
    EXPECT_EQ(judge(comparison({0, 0, 0}, {120, 115, 125}), true).speed, SpeedVerdict::Unknown);
    EXPECT_EQ(speedText(judge(comparison({100, 98, 103}, {50, 49, 52}), true)), "2.00x faster");
    EXPECT_EQ(speedText(judge(comparison({100, 98, 103}, {200, 199, 201}), true)), "2.00x slower");
}

TEST(FuseVerdict, OneRoundHasNoSpread) {
    EXPECT_FALSE((Spread{100, 100, 100, 1}.known()));
    EXPECT_FALSE((Spread{100, 90, 110, 2}.known()));
    EXPECT_TRUE((Spread{100, 100, 100, 20}.known())); // told: no two of them differ
    EXPECT_FALSE((Spread{100, 100, 100}.known()));    // not told: one, most likely
    EXPECT_TRUE((Spread{100, 90, 110}.known()));
    const auto reasons = verdictReasons(comparison({100, 100, 100, 1}, {50, 50, 50, 1}), {});
    ASSERT_GE(reasons.size(), 2u);
    EXPECT_EQ(reasons[0], "100 µs, fused 50.0 µs");
    EXPECT_EQ(reasons[1], "Of 1 round: how much times spread is not known.");
}

TEST(FuseVerdict, Memory) {
    Comparison one = comparison({100, 98, 103}, {50, 49, 52});
    const auto memory = [&](double baseline, double fused) {
        one.baseline.peak_bytes = baseline;
        one.fused.peak_bytes = fused;
        return judge(one, true).memory;
    };
    EXPECT_EQ(memory(1e9, 5e8), MemoryVerdict::Less);
    EXPECT_EQ(memory(1e9, 0.99e9), MemoryVerdict::Same);
    EXPECT_EQ(memory(1e9, 1.1e9), MemoryVerdict::More);
    EXPECT_EQ(memory(1000, 2000), MemoryVerdict::Same); // an allocator's rounding
    EXPECT_EQ(memory(0, 0), MemoryVerdict::Same);
}

TEST(FuseVerdict, Numerics) {
    Comparison one = comparison({100, 98, 103}, {50, 49, 52});
    one.baseline.relative_error = 1e-3;
    const auto numerics = [&](double error) {
        one.fused.relative_error = error;
        return judge(one, true).numerics;
    };
    EXPECT_EQ(numerics(1e-3), NumericsVerdict::AsExact);
    EXPECT_EQ(numerics(0), NumericsVerdict::AsExact);
    EXPECT_EQ(numerics(1.19e-3), NumericsVerdict::AsExact);
    EXPECT_EQ(numerics(1.21e-3), NumericsVerdict::LessExact);
    one.baseline.relative_error = 0; // it is the reference: the same operators in fp64
    EXPECT_EQ(numerics(4.4e-16), NumericsVerdict::AsExact);
    EXPECT_EQ(numerics(2e-15), NumericsVerdict::LessExact);
    one.baseline.relative_error = 1e-3;
    EXPECT_EQ(judge(one, false).numerics, NumericsVerdict::Unknown);
    one.fused.bitwise = true;
    EXPECT_EQ(judge(one, false).numerics, NumericsVerdict::Bitwise);
}

TEST(FuseVerdict, NothingFused) {
    Comparison one = comparison({100, 98, 103}, {});
    one.has_fused = false;
    EXPECT_EQ(verdictText(judge(one, true)), "no fused form");
    EXPECT_TRUE(verdictReasons(one, {}).empty());
}

TEST(FuseVerdict, SaysWhatWeakensIt) {
    const Comparison one = comparison({100, 98, 103}, {50, 49, 52});
    FuseResult result;
    result.on_gpu = false;
    result.busy = true;
    result.busy_note = "another process keeps the GPU busy";
    result.fp64_note = "it does not fit";
    std::string text;
    for (const std::string& reason : verdictReasons(one, result)) text += reason + "\n";
    EXPECT_THAT(text, testing::HasSubstr("Measured on the CPU"));
    EXPECT_THAT(text, testing::HasSubstr("another process keeps the GPU busy"));
    EXPECT_THAT(text, testing::HasSubstr("it does not fit"));
}

} // namespace
} // namespace fusescope
