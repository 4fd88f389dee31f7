// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

TEST(Printable, TextStaysAsItIs) {
    for (const char* text : {"", "a b", "résumé 日本語 🚀", "C:\\x \"q\" <b>"}) EXPECT_EQ(printableLine(text), text);
}

TEST(Printable, WhatMovesTheCursorIsShown) {
    EXPECT_EQ(printableLine("a\x1b[31mred"), "a\\x1b[31mred");
    EXPECT_EQ(printableLine("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
    EXPECT_EQ(printableLine(std::string_view("a\0b", 3)), "a\\x00b");
    EXPECT_EQ(printableLine("\xC2\x9B"
                            "31m"),
              "\\x9b31m")
        << "the eight-bit form of ESC [";
    EXPECT_EQ(printableLine("txt\xE2\x80\xAEnosj"), "txt\\u202enosj") << "right to left from here";
}

TEST(Printable, BytesThatAreNoUtf8) {
    EXPECT_EQ(printableLine("inv\xFF\xC3"), "inv\\xff\\xc3");
    EXPECT_EQ(printableLine("\xED\xA0\x80"), "\\xed\\xa0\\x80") << "half a surrogate pair";
}

TEST(Printable, LinesOfAText) { EXPECT_EQ(printableText("a\nb\x1b\n"), "a\nb\\x1b\n"); }

} // namespace
} // namespace fusescope
