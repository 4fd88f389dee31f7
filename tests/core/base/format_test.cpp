// SPDX-License-Identifier: Apache-2.0
#include "core/base/format.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusescope {
namespace {

TEST(Format, ThreeSignificantDigits) {
    EXPECT_EQ(formatDuration(0), "0 ns");
    EXPECT_EQ(formatDuration(832), "832 ns");
    EXPECT_EQ(formatDuration(12'345), "12.3 µs");
    EXPECT_EQ(formatDuration(89'512'000), "89.5 ms");
    EXPECT_EQ(formatDuration(1.5e9), "1.50 s");
    EXPECT_EQ(formatBandwidth(4.8e12), "4.80 TB/s");
    EXPECT_EQ(formatFlopRate(989e12), "989 TFLOP/s");
    EXPECT_EQ(formatBytes(2'489'319'424), "2.49 GB");
    EXPECT_EQ(formatPercent(0.1234), "12.3%");
    EXPECT_EQ(formatPercent(1), "100%");
}

TEST(Format, RoundingCarriesIntoTheNextUnit) {
    EXPECT_EQ(formatDuration(999'600), "1.00 ms");
    EXPECT_EQ(formatDuration(999'400), "999 µs");
    EXPECT_EQ(formatSignificant(9.999), "10.0");
    EXPECT_EQ(formatSignificant(0.0999999), "0.100");
    EXPECT_EQ(formatSignificant(-999.6), "-1000");
    EXPECT_EQ(formatSignificant(1e-6, 12), "0.00000100000000000");
}

TEST(Format, NegativeAndNotFinite) {
    EXPECT_EQ(formatDuration(-12'345), "-12.3 µs");
    EXPECT_EQ(formatDuration(std::numeric_limits<double>::infinity()), "n/a");
    EXPECT_EQ(formatPercent(std::numeric_limits<double>::quiet_NaN()), "n/a%");
}

TEST(Format, MeansOfCounts) {
    EXPECT_EQ(formatMean(21), "21");
    EXPECT_EQ(formatMean(24.75), "24.8");
    EXPECT_EQ(formatMean(1234), "1,234");
    EXPECT_EQ(formatMean(std::numeric_limits<double>::infinity()), "n/a");
}

TEST(Format, CountedThings) {
    EXPECT_EQ(formatCounted(1, "kernel"), "1 kernel");
    EXPECT_EQ(formatCounted(0, "kernel"), "0 kernels");
    EXPECT_EQ(formatCounted(2048, "kernel"), "2,048 kernels");
    EXPECT_EQ(formatAverage(1, "kernel"), "1 kernel");
    EXPECT_EQ(formatAverage(8, "kernel"), "8 kernels");
    EXPECT_EQ(formatAverage(3.94, "kernel"), "3.9 kernels on average");
}

TEST(Format, Counts) {
    EXPECT_EQ(formatCount(1'630'556'672), "1,630,556,672");
    EXPECT_EQ(formatCount(999), "999");
    EXPECT_EQ(formatCount(-1000), "-1,000");
    EXPECT_EQ(formatCountShort(1.630556672e9), "1.63 B");
    EXPECT_EQ(formatCountShort(12), "12.0");
}

// A session file may hold any number: "stod" threw at those below the smallest normal one.
TEST(Format, NumbersThatNothingMeasures) {
    EXPECT_EQ(formatSignificant(5e-324), "4.94e-324");
    EXPECT_EQ(formatSignificant(-1.234e-300), "-1.23e-300");
    EXPECT_EQ(formatSignificant(1e300), "1.00e+300");
    EXPECT_EQ(formatDuration(1e-310), "1.00e-310 ns");
}

} // namespace
} // namespace fusescope
