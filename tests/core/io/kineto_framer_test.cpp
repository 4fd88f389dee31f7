// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/framer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace fusescope::chrome {
namespace {

struct Framed {
    std::vector<std::string> events;
    std::vector<std::uint64_t> offsets;
    std::vector<std::pair<std::string, std::string>> header;
    std::vector<std::string> problems;
    bool saw_events = false;
};

Framed frame(std::string_view text, std::size_t piece) {
    Framed out;
    Framer framer(
        [&](Batch &&batch) {
            for (const auto &[begin, end] : batch.events) {
                out.events.push_back(batch.text.substr(begin, end - begin));
                out.offsets.push_back(batch.offset + begin - 1);
            }
        },
        [&](std::string_view key, std::string_view value, std::uint64_t) { out.header.emplace_back(key, value); },
        [&](std::string_view kind, std::uint64_t, std::string_view) { out.problems.emplace_back(kind); });
    for (std::size_t at = 0; at < text.size(); at += piece) framer.push(text.substr(at, piece));
    framer.finish();
    out.saw_events = framer.sawEvents();
    return out;
}

const std::string kText = R"({ "schemaVersion": 1, "deviceProperties": [ {"id": 0, "name": "a]b\"}"} ],
  "traceEvents": [ {"ph":"X","args":{"a":[1,{"b":"}"}]}} , {"ph":"i"}, {"name":"q\"}{"} ], "traceName": "x,y" })";

TEST(Framer, TheSameWhateverThePieces) {
    const Framed whole = frame(kText, kText.size());
    ASSERT_EQ(whole.events.size(), 3U);
    EXPECT_EQ(whole.events[0], R"({"ph":"X","args":{"a":[1,{"b":"}"}]}})");
    EXPECT_EQ(whole.events[2], R"({"name":"q\"}{"})");
    EXPECT_TRUE(whole.problems.empty());
    for (std::size_t i = 0; i < whole.events.size(); ++i)
        EXPECT_EQ(kText.substr(whole.offsets[i], whole.events[i].size()), whole.events[i]);
    for (std::size_t piece = 1; piece < 40; ++piece) {
        const Framed cut = frame(kText, piece);
        EXPECT_EQ(cut.events, whole.events) << piece;
        EXPECT_EQ(cut.offsets, whole.offsets) << piece;
        EXPECT_EQ(cut.header, whole.header) << piece;
    }
}

TEST(Framer, TopLevelValuesAreHandedOut) {
    const Framed f = frame(kText, 7);
    ASSERT_EQ(f.header.size(), 3U);
    EXPECT_EQ(f.header[0].first, "schemaVersion");
    EXPECT_EQ(f.header[0].second, "1");
    EXPECT_EQ(f.header[1].second.front(), '[');
    EXPECT_EQ(f.header[2].first, "traceName");
}

TEST(Framer, EveryCutIsReportedOnceOrHarmless) {
    const std::size_t end_of_root = kText.rfind('}');
    for (std::size_t cut = 1; cut < end_of_root; ++cut) {
        const Framed f = frame(std::string_view(kText).substr(0, cut), 16);
        EXPECT_EQ(f.problems.size(), 1U) << cut;
        EXPECT_LE(f.events.size(), 3U);
    }
}

} // namespace
} // namespace fusescope::chrome
