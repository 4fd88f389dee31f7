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
    EXPECT_FALSE((Spread{100, 90, 110, 4}.known()));
    EXPECT_TRUE((Spread{100, 90, 110, 5}.known()));
    EXPECT_FALSE((Spread{100, 0, 110, 20}.known()));  // no run takes no time
    EXPECT_TRUE((Spread{100, 100, 100, 20}.known())); // told: no two of them differ
    EXPECT_FALSE((Spread{100, 100, 100}.known()));    // not told: one, most likely
    EXPECT_TRUE((Spread{100, 90, 110}.known()));
    const auto reasons = verdictReasons(comparison({100, 100, 100, 1}, {50, 50, 50, 1}), {});
    ASSERT_GE(reasons.size(), 2u);
    EXPECT_EQ(reasons[0], "100 µs, fused 50.0 µs");
    EXPECT_EQ(reasons[1], "Of 1 round: how much times spread is not known, and no speedup is told of fewer than 5.");
}

// Seen on a busy CPU: 2 rounds, 665 times as fast.
TEST(FuseVerdict, AFewRoundsWinNothing) {
    const auto of = [](int rounds) {
        return judge(comparison({1330, 1300, 1360, rounds}, {2, 1.9, 2.1, rounds}), true);
    };
    for (const int rounds : {1, 2, 3, 4}) EXPECT_EQ(of(rounds).speed, SpeedVerdict::Unsteady) << rounds;
    EXPECT_EQ(of(2).speedup.factor, 665);
    EXPECT_EQ(doubtText(of(2).speedup), "2 rounds");
    EXPECT_EQ(speedText(of(2)), "not certain (2 rounds)");
    EXPECT_EQ(speedText(of(5)), "665x faster");
    EXPECT_EQ(doubtText(of(5).speedup), "");
    EXPECT_EQ(speedText(judge(comparison({1330, 1300, 1360, 20}, {2, 1.9, 2.1, 3}), true)), "not certain (3 rounds)");
    EXPECT_EQ(speedText(judge(comparison({100, 100, 100}, {50, 50, 50}), true)), "not certain (rounds not told)");
}

// The baseline's 10th percentile over the fused form's 90th, and the other way round.
TEST(FuseVerdict, RunsThatDifferTooMuchWinNothing) {
    const auto of = [](Spread baseline, Spread fused) { return judge(comparison(baseline, fused), true); };
    const Comparison wild = comparison({1000, 102, 4900, 20}, {50, 49, 51, 20}); // 102 / 51 to 4900 / 49
    EXPECT_EQ(speedText(judge(wild, true)), "not certain (2.00x to 100x)");
    EXPECT_EQ(verdictReasons(wild, {})[1], "The runs differ too much to tell a speedup: all from 2.00x to 100x fits.");
    // Each 1.4 times its 10th percentile at the 90th: 1.96. One of 1.45 times, the other of 1.4: 2.03.
    EXPECT_EQ(of({100, 90, 126, 20}, {40, 36, 50.4, 20}).speed, SpeedVerdict::Faster);
    EXPECT_EQ(of({100, 90, 130.5, 20}, {40, 36, 50.4, 20}).speed, SpeedVerdict::Unsteady);
    // Neither is it slower, nor without a clear difference.
    EXPECT_EQ(of({50, 49, 51, 20}, {1000, 102, 4900, 20}).speed, SpeedVerdict::Unsteady);
    EXPECT_EQ(of({100, 40, 160, 20}, {100, 40, 160, 20}).speed, SpeedVerdict::Unsteady);
    // Nothing is steady about a part of a result that is not.
    FuseResult result;
    result.directions = {comparison({100, 98, 103, 20}, {50, 49, 52, 20})};
    EXPECT_EQ(doubtText(result), "");
    result.directions[0].baseline.graph_us = {90, 89, 91, 3};
    EXPECT_EQ(doubtText(result), ""); // the fused form was not captured: nothing is compared
    result.directions[0].fused.graph_us = {40, 39, 41, 3};
    result.directions.push_back(wild);
    result.directions[1].direction = "backward";
    EXPECT_EQ(doubtText(result), "forward under a CUDA graph: 3 rounds, backward: 2.00x to 100x");
    result.directions[1].has_fused = false;
    EXPECT_EQ(doubtText(result), "forward under a CUDA graph: 3 rounds");
    result.directions[0].baseline.us.rounds = 3;
    EXPECT_EQ(doubtText(result), "3 rounds"); // all of it
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
