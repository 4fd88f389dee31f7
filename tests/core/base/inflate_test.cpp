// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace fusescope {
namespace {

std::string gzip(const std::string& text) {
    z_stream s{};
    EXPECT_EQ(deflateInit2(&s, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::string out(deflateBound(&s, static_cast<uLong>(text.size())) + 64, '\0');
    s.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data())); // zlib does not write here
    s.avail_in = static_cast<uInt>(text.size());
    s.next_out = reinterpret_cast<Bytef*>(out.data());
    s.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(deflate(&s, Z_FINISH), Z_STREAM_END);
    out.resize(s.total_out);
    deflateEnd(&s);
    return out;
}

struct Inflated {
    std::string text;
    InflateEnd end;
};
Inflated inflateAll(std::string_view bytes, std::uint64_t limit = 1U << 30U) {
    Inflated out;
    out.end = inflateGzip(bytes, limit, [&](std::string_view piece) {
        out.text.append(piece);
        return true;
    });
    return out;
}

TEST(Inflate, WholeAndInMembers) {
    std::string text;
    for (int i = 0; i < 300000; ++i) text += std::to_string(i) + ",";
    const Inflated one = inflateAll(gzip(text));
    EXPECT_EQ(one.text, text);
    EXPECT_TRUE(one.end.complete);
    const Inflated two = inflateAll(gzip(text) + gzip("tail"));
    EXPECT_EQ(two.text, text + "tail");
    EXPECT_TRUE(two.end.complete);
    EXPECT_TRUE(inflateAll(gzip("")).end.complete);
}

TEST(Inflate, EveryCutGivesAPrefixAndSaysSo) {
    std::string text;
    for (int i = 0; i < 500; ++i) text += std::to_string(i * i) + ";";
    const std::string whole = gzip(text);
    for (std::size_t cut = 1; cut < whole.size(); ++cut) {
        const Inflated part = inflateAll(std::string_view(whole).substr(0, cut));
        EXPECT_FALSE(part.end.complete) << cut;
        EXPECT_FALSE(part.end.problem.empty()) << cut;
        EXPECT_EQ(text.compare(0, part.text.size(), part.text), 0) << cut;
    }
}

TEST(Inflate, ALimitStopsABomb) {
    const Inflated bomb = inflateAll(gzip(std::string(50'000'000, '0')), 10'000'000);
    EXPECT_FALSE(bomb.end.complete);
    EXPECT_LT(bomb.text.size(), 20'000'000U);
    EXPECT_NE(bomb.end.problem.find("more than 10.0 MB"), std::string::npos);
}

} // namespace
} // namespace fusescope
