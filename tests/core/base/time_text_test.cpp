// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_text.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace fusescope {
namespace {

TEST(TimeText, ExactWhereADoubleIsNot) {
    EXPECT_EQ(nanosecondsFromMicroseconds("5105189115209.836"), 5'105'189'115'209'836);
    EXPECT_EQ(nanosecondsFromMicroseconds("1778672154839123.456"), 1'778'672'154'839'123'456);
    EXPECT_EQ(nanosecondsFromMicroseconds("0.001"), 1);
    EXPECT_EQ(nanosecondsFromMicroseconds("7"), 7'000);
    EXPECT_EQ(nanosecondsFromMicroseconds("0.2"), 200);
}

TEST(TimeText, EveryNanosecondComesBack) {
    std::mt19937_64 random(1);
    for (int i = 0; i < 20000; ++i) {
        const auto ns = static_cast<std::int64_t>(random() >> (1 + random() % 62));
        std::string fraction = std::to_string(ns % 1000);
        fraction.insert(0, 3 - fraction.size(), '0');
        EXPECT_EQ(nanosecondsFromMicroseconds(std::to_string(ns / 1000) + "." + fraction), ns);
    }
}

TEST(TimeText, SignsExponentsAndRounding) {
    EXPECT_EQ(nanosecondsFromMicroseconds("-3"), -3'000);
    EXPECT_EQ(nanosecondsFromMicroseconds("+3.5"), 3'500);
    EXPECT_EQ(nanosecondsFromMicroseconds("1.5e3"), 1'500'000);
    EXPECT_EQ(nanosecondsFromMicroseconds("15E-1"), 1'500);
    EXPECT_EQ(nanosecondsFromMicroseconds("1e-9"), 0);
    EXPECT_EQ(nanosecondsFromMicroseconds("0.0005"), 1); // half away from zero
    EXPECT_EQ(nanosecondsFromMicroseconds("0.00049"), 0);
    EXPECT_EQ(nanosecondsFromMicroseconds("-0.0005"), -1);
    EXPECT_EQ(nanosecondsFromMicroseconds("0.9996"), 1'000);
    EXPECT_EQ(nanosecondsFromMicroseconds("000012.5"), 12'500);
}

TEST(TimeText, WhatIsNotATime) {
    for (const char* text : {"", "-", ".", "abc", "1.2.3", "1e", "1e+", "0x10", "1 ", " 1", "inf", "nan", "--1"})
        EXPECT_FALSE(nanosecondsFromMicroseconds(text).has_value()) << text;
    EXPECT_FALSE(nanosecondsFromMicroseconds("9223372036854775.808").has_value()); // 2^63 ns
    EXPECT_EQ(nanosecondsFromMicroseconds("9223372036854775.807"), INT64_MAX);
    EXPECT_FALSE(nanosecondsFromMicroseconds("1e99999").has_value());
    EXPECT_FALSE(nanosecondsFromMicroseconds(std::string(5000, '9')).has_value());
    EXPECT_EQ(nanosecondsFromMicroseconds("1." + std::string(5000, '0')), 1'000);
}

} // namespace
} // namespace fusescope
