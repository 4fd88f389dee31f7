// SPDX-License-Identifier: Apache-2.0
// What can be kept of damaged events and texts is kept.
#include "core/io/chrome/json_text.h"
#include "kineto_text.h"

namespace fusescope::testing {
namespace {

TEST(KinetoSalvage, AnEventWithBrokenArgumentsKeepsItsTimes) { // kineto PR 1508: quotes in metadata are not escaped
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"cpu_op","name":"aten::mul","pid":1,"tid":1,"ts":5,"dur":2,"args":{"Call stack":"a "b" c"}},)" +
        kGood);
    ASSERT_EQ(t->slices.size(), 2U);
    const std::size_t row = rowOf(*t, "aten::mul");
    EXPECT_EQ(t->slices.dur[row], 2000);
    EXPECT_EQ(t->slices.args_length[row], 0U);
    EXPECT_EQ(countOf(*t, "bad_args"), 1U);
    EXPECT_EQ(t->counts.dropped, 0U);
}

TEST(KinetoSalvage, ALostBraceTakesNoNeighbour) {
    std::string whole = kGood;
    whole.pop_back(); // the event's own brace
    const TracePtr t = readEvents(whole + "," + kernel("k", R"("ts":5,"dur":1)") + "," + whole);
    EXPECT_EQ(t->kernels.size(), 1U);
    EXPECT_EQ(t->cpu_ops.size(), 2U);
    EXPECT_FALSE(t->problems.empty());
}

TEST(KinetoSalvage, AStrayBracketDoesNotEndTheEvents) {
    const TracePtr t = read("{\"traceEvents\":[" + kGood + "]}}," + kGood + "],\"with_stack\":1}");
    EXPECT_EQ(t->slices.size(), 2U);
    EXPECT_EQ(countOf(*t, "stray_text"), 1U);
    EXPECT_TRUE(t->with_stack);
}

TEST(KinetoSalvage, UnescapedWindowsPaths) { // pytorch 98432: here every escape is legal and none is meant
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"python_function","name":"C:\build\tools\new.py(3): f","pid":1,"tid":1,"ts":1,"dur":1})");
    EXPECT_EQ(t->nameOf(SliceId(std::size_t{0})), R"(C:\build\tools\new.py(3): f)");
    EXPECT_EQ(countOf(*t, "repaired_event"), 1U);
}

TEST(KinetoSalvage, OrphansAndWideStreams) { // chakra 194, kineto PR 1416
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":140234567890,"ts":1,"dur":1,"args":{"correlation":-1,"device":0,"stream":140234567890}})");
    ASSERT_EQ(t->kernels.size(), 1U);
    EXPECT_EQ(t->slices.correlation[0], 0U);
    EXPECT_EQ(t->kernels.stream[0], 140234567890);
    EXPECT_EQ(t->tracks[0].tid, 140234567890);
}

TEST(KinetoSalvage, NothingIsLeftOutWithoutAWord) {
    const std::pair<const char*, const char*> cases[] = {
        {R"({"ph":"X","name":"a","dur":1})", "no_time"},
        {R"({"ph":"X","name":"a","ts":"soon","dur":1})", "bad_time"},
        {R"({"ph":"X","name":"a","ts":99999999999999999999,"dur":1})", "bad_time"},
        {R"({"ph":"X","name":"a","ts":1})", "no_duration"},
        {R"({"ph":"X","name":"a","ts":1,"dur":inf})", "bad_duration"},
        {R"({"name":"a","ts":1,"dur":1})", "no_phase"},
        {R"({"ph":"B","name":"a","ts":1})", "begin_end"},
        {R"(5)", "stray_text"},
        {R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"External id":99999999999}})", "wide_id"},
        {R"({"ph":"X","name":"a","ts":1,"dur":1,"args":{"x":N/A}})", "not_a_number"},
    };
    for (const auto& [event, kind] : cases) {
        const TracePtr t = readEvents(kGood + "," + event);
        EXPECT_EQ(countOf(*t, kind), 1U) << event;
        EXPECT_EQ(t->problems.size(), 1U) << event;
    }
}

TEST(JsonText, Escapes) {
    chrome::TextRepair repair;
    EXPECT_EQ(chrome::unescaped(R"(a\"b\\c\/d\n\u0041\u00e9\u20ac)", repair), "a\"b\\c/d\nA\xC3\xA9\xE2\x82\xAC");
    EXPECT_FALSE(repair.any());
    EXPECT_EQ(chrome::unescaped(R"(torch\nn\modules \"x\")", repair),
              R"(torch\nn\modules "x")"); // one bad escape: none is meant
    EXPECT_TRUE(repair.escape);
    EXPECT_EQ(chrome::unescaped(R"(\u12)", repair), R"(\u12)");
    EXPECT_EQ(chrome::unescaped("\\", repair), "\\");
    repair = {};
    EXPECT_EQ(chrome::unescaped("a\x01\xF0(\xC3\xA9", repair), "a\xEF\xBF\xBD\xEF\xBF\xBD(\xC3\xA9");
    EXPECT_TRUE(repair.bytes);
}

TEST(JsonText, Integers) {
    EXPECT_EQ(chrome::integerOf("0"), 0);
    EXPECT_EQ(chrome::integerOf("-5"), -5);
    EXPECT_EQ(chrome::integerOf("9223372036854775807"), INT64_MAX);
    EXPECT_EQ(chrome::integerOf("18446744073709551000"), std::nullopt);
    EXPECT_EQ(chrome::integerOf("7.9"), 7);
    EXPECT_EQ(chrome::integerOf("1e3"), 1000);
    for (const char* no : {"", "-", "7x", "nan", "inf", "1e99", "grid(100,)"})
        EXPECT_EQ(chrome::integerOf(no), std::nullopt) << no;
}

} // namespace
} // namespace fusescope::testing
