// SPDX-License-Identifier: Apache-2.0
#include "core/base/string_pool.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

TEST(StringPool, SameTextSameId) {
    StringPool pool;
    const StringId a = pool.intern("aten::add");
    EXPECT_EQ(pool.intern(std::string("aten::") + "add"), a);
    EXPECT_NE(pool.intern(""), a);
    EXPECT_EQ(pool.view(a), "aten::add");
    EXPECT_EQ(pool.size(), 2U);
    EXPECT_FALSE(pool.find("aten::mul").valid());
    EXPECT_EQ(pool.find("aten::add"), a);
    EXPECT_EQ(pool.view(StringId{}), "");
}

TEST(StringPool, ViewsNeverMove) {
    StringPool pool;
    const std::string_view first = pool.view(pool.intern("first"));
    for (int i = 0; i < 200000; ++i) pool.intern("text " + std::to_string(i));
    const std::string big(3'000'000, 'x'); // larger than a block
    const StringId big_id = pool.intern(big);
    pool.intern("after");
    EXPECT_EQ(first, "first");
    EXPECT_EQ(pool.view(big_id), big);
    StringPool moved = std::move(pool);
    EXPECT_EQ(moved.view(StringId(std::size_t{0})).data(), first.data());
    EXPECT_GE(moved.bytes(), big.size());
}

} // namespace
} // namespace fusescope
