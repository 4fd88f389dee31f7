// SPDX-License-Identifier: Apache-2.0
#include "core/base/inflate.h"

#include "core/base/gzip_engine.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <random>
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

// In pieces of input and room for output as small as they may be: they end in the middle of anything.
struct Ended {
    std::string text;
    GzipEngine::Step step = GzipEngine::Step::More;
    std::size_t left = 0; // bytes behind the member
};
Ended inPieces(std::string_view bytes, std::size_t feed, std::size_t room) {
    GzipEngine engine;
    Ended ended;
    std::string out(room, '\0'), piece; // a piece of its own: nothing around it may be touched
    std::size_t at = 0;
    while (ended.step == GzipEngine::Step::More) {
        if (engine.left().empty()) {
            piece = bytes.substr(at, feed);
            piece.shrink_to_fit();
            at += piece.size();
            engine.feed(piece);
        }
        const bool dry = engine.left().empty();
        std::size_t got = 0;
        ended.step = engine.step(out, got);
        ended.text.append(out, 0, got);
        if (dry && got < room) break;
    }
    ended.left = bytes.size() - at + engine.left().size();
    return ended;
}

TEST(Inflate, PiecesOfAnySizeGiveTheSame) {
    std::string text;
    for (int i = 0; i < 3000; ++i) text += "{\"name\":\"aten::" + std::to_string(i * 7919 % 300) + "\"},";
    std::mt19937 random(7);
    std::string noise(20'000, '\0'); // is stored, not compressed
    for (char& c : noise) c = static_cast<char>(random());
    for (const std::string& content : {text, noise, std::string(200'000, '0'), std::string()}) {
        const std::string whole = gzip(content) + "tail";
        for (const std::size_t feed : {1, 2, 3, 7, 8, 9, 64, 1000, 1 << 20})
            for (const std::size_t room : {1, 5, 1000, 1 << 18}) {
                const Ended ended = inPieces(whole, feed, room);
                EXPECT_EQ(ended.step, GzipEngine::Step::MemberEnd) << feed << ' ' << room;
                EXPECT_EQ(ended.text, content) << feed << ' ' << room;
                EXPECT_EQ(ended.left, 4u) << feed << ' ' << room;
            }
    }
}

std::string zlibsOwn(const std::string& bytes) {
    z_stream z{};
    EXPECT_EQ(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    std::string out(std::size_t{4} << 20, '\0');
    z.next_out = reinterpret_cast<Bytef*>(out.data());
    z.avail_out = static_cast<uInt>(out.size());
    EXPECT_NE(inflate(&z, Z_SYNC_FLUSH), Z_STREAM_END);
    out.resize(z.total_out);
    inflateEnd(&z);
    return out;
}

TEST(Inflate, ADamagedByteIsFoundAndWhatWasBeforeItIsTrue) {
    std::string text;
    for (int i = 0; i < 300000; ++i) text += std::to_string(i * 31 % 1009) + (i % 7 == 0 ? "\n" : ",");
    const std::string whole = gzip(text);
    std::mt19937 random(3);
    for (int round = 0; round < 100; ++round) {
        std::string damaged = whole;
        const std::size_t at = 10 + random() % (whole.size() - 14); // behind the header, before the length
        damaged[at] = static_cast<char>(damaged[at] ^ (1U << (random() % 8)));
        const Inflated part = inflateAll(damaged);
        EXPECT_FALSE(part.end.complete) << at; // by the checksum, if by nothing else
        EXPECT_FALSE(part.end.problem.empty()) << at;
        // zlib gives all that stands before the damage, and a little more that is not true.
        const std::string known = zlibsOwn(damaged);
        const auto sameAs = [&](const std::string& other) {
            return std::mismatch(text.begin(), text.end(), other.begin(), other.end()).first - text.begin();
        };
        EXPECT_GE(sameAs(part.text), sameAs(known)) << at;
        EXPECT_LE(part.text.size(), known.size() + 258) << at; // one match more
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
