// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_writer.h"

#include <gtest/gtest.h>

#include <limits>

namespace fusescope {
namespace {

TEST(JsonWriter, NestedValues) {
    JsonWriter w;
    w.beginObject()
        .member("a", 1)
        .key("b")
        .beginArray()
        .value(true)
        .null()
        .value("x")
        .endArray()
        .key("c")
        .beginObject()
        .endObject();
    w.endObject();
    EXPECT_EQ(w.text(), R"({"a":1,"b":[true,null,"x"],"c":{}})");
}

TEST(JsonWriter, RawIsTakenAsItIs) {
    JsonWriter w;
    w.beginObject().key("a").raw(R"({"b":[1]})").member("c", 2).endObject();
    EXPECT_EQ(w.text(), R"({"a":{"b":[1]},"c":2})");
}

TEST(JsonWriter, NumbersReadBackTheSame) {
    JsonWriter w;
    w.beginArray()
        .value(0.1)
        .value(1e300)
        .value(std::numeric_limits<double>::infinity())
        .value(std::numeric_limits<double>::quiet_NaN());
    w.value(std::numeric_limits<std::int64_t>::min()).value(std::numeric_limits<std::uint64_t>::max()).endArray();
    EXPECT_EQ(w.text(), "[0.1,1e+300,null,null,-9223372036854775808,18446744073709551615]");
}

TEST(JsonWriter, LargeNumbersHaveAnExponent) {
    JsonWriter w; // 123456789012345680000 has more digits than JSON readers take as a number
    w.beginArray().value(123456789012345680000.0).value(1.5).endArray();
    EXPECT_EQ(w.text(), "[1.2345678901234568e+20,1.5]");
}

TEST(JsonWriter, HostileText) {
    JsonWriter w;
    w.value(std::string_view("a\"b\\c\n\t\x01\xff\xc3\xa9\xed\xa0\x80\0z", 16));
    EXPECT_EQ(w.text(), "\"a\\\"b\\\\c\\n\\t\\u0001\xEF\xBF\xBD\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\\u0000z\"");
}

TEST(JsonWriter, Indented) {
    JsonWriter w(1);
    w.beginObject().member("a", 1).key("b").beginArray().endArray().endObject();
    EXPECT_EQ(w.text(), "{\n \"a\": 1,\n \"b\": []\n}");
}

} // namespace
} // namespace fusescope
