// SPDX-License-Identifier: Apache-2.0
#include "core/graph/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace fusescope {
namespace {

std::string hashOfTexts(std::initializer_list<std::string_view> texts) {
    Hash128 hash;
    for (const std::string_view text : texts) hash.add(text);
    return hash.hex();
}

TEST(Hash, IsThirtyTwoHexDigits) {
    const std::string text = hashOfTexts({"abc"});
    EXPECT_EQ(text.size(), 32u);
    EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(Hash, BordersBetweenTextsCount) {
    EXPECT_NE(hashOfTexts({"ab", "c"}), hashOfTexts({"a", "bc"}));
    EXPECT_NE(hashOfTexts({"abc"}), hashOfTexts({"abc", ""}));
    EXPECT_NE(hashOfTexts({""}), hashOfTexts({}));
}

TEST(Hash, OrderCounts) { EXPECT_NE(hashOfTexts({"a", "b"}), hashOfTexts({"b", "a"})); }

TEST(Hash, SameInputSameHash) { EXPECT_EQ(hashOfTexts({"layer", "x"}), hashOfTexts({"layer", "x"})); }

TEST(Hash, HundredThousandNumbersDiffer) {
    std::set<std::string> seen;
    for (std::uint64_t i = 0; i < 100000; ++i) {
        Hash128 hash;
        hash.add(i);
        seen.insert(hash.hex());
    }
    EXPECT_EQ(seen.size(), 100000u);
}

} // namespace
} // namespace fusescope
