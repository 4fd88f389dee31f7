// SPDX-License-Identifier: Apache-2.0
// Text made to cost: reading it is bounded in time and memory, what was left out is counted. Each of these took from
// tens of seconds to forever; here they get a fraction of the time limit of a test.
#include "kineto_text.h"

#include "core/io/chrome/batch_source.h"
#include "core/io/open.h"
#include "tests/support/files.h"

#include <chrono>
#include <filesystem>
#include <fstream>

namespace fusescope::testing {
namespace {

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    all.reserve(text.size() * times);
    for (std::size_t i = 0; i < times; ++i) all += text;
    return all;
}

// Cancelled, it would end at once: so the reader gets no such way out.
double secondsToRead(const std::string& text, bool usable, std::size_t batch = 0) {
    const auto begin = std::chrono::steady_clock::now();
    KinetoTextOptions options;
    options.batch_bytes = batch;
    const auto trace = readKinetoText(text, options);
    EXPECT_EQ(trace.ok(), usable) << (trace.ok() ? "" : trace.error().message());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
constexpr double kSoon = 20; // under sanitizers, on a busy machine; unbounded it would be hundreds

TEST(KinetoHostile, NestedArraysBetweenEvents) {
    EXPECT_LT(secondsToRead(repeated("[", 1'000'000), false), kSoon);
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated("[", 1'000'000), true), kSoon);
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated("[\x01", 500'000), true), kSoon);
}

TEST(KinetoHostile, EventsThatOnlyBegin) {
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + repeated("{\"ph\":\"X\",", 300'000), false), kSoon);
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated("{\"ph\":\"X\",", 300'000), true), kSoon);
}

TEST(KinetoHostile, EventsWithinTheArgumentsOfEvents) {
    const std::string begin = "{\"ph\":\"X\",\"args\":{\"a\":[";
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated(begin, 100'000), true), kSoon);
    // Each ends badly only at the very end.
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated(begin, 100'000) + "1 2", true), kSoon);
    EXPECT_LT(secondsToRead("{\"traceEvents\":[" + kGood + "," + repeated(begin, 100'000) + "1 2", true, 65536), kSoon);
}

TEST(KinetoHostile, BracketsThatMightEndTheEvents) {
    EXPECT_LT(secondsToRead(
                  "{\"traceEvents\":[" + kGood + ",{\"ph\":x}" + repeated(",],\"", 200'000) + "," + kGood + "]}", true),
              kSoon);
}

TEST(KinetoHostile, GoodEventsAmongBadOnesAreKept) {
    std::string events;
    for (int i = 0; i < 2000; ++i) events += "{\"ph\":\"X\",{\"ph\":broken}," + kGood + ",";
    const TracePtr t = readEvents(events + kGood);
    EXPECT_EQ(t->slices.size(), 2001U);
    EXPECT_EQ(countOf(*t, "given_up"), 0U);
    EXPECT_EQ(countOf(*t, "bad_event"), 2000U);
}

TEST(KinetoHostile, ALimitOfRowsKeepsWhatWasRead) {
    std::string events = kGood;
    for (int i = 0; i < 1000; ++i) events += "," + kGood;
    KinetoTextOptions options;
    options.batch_bytes = 1000;
    options.limits.slices = 100;
    const auto trace = readKinetoText("{\"traceEvents\":[" + events + "]}", options);
    ASSERT_TRUE(trace.ok());
    EXPECT_GE((*trace)->slices.size(), 100U);
    EXPECT_LT((*trace)->slices.size(), 130U);
    EXPECT_EQ(countOf(**trace, "too_many_events"), 1U);
    EXPECT_EQ(countOf(**trace, "truncated"), 0U) << "one reason is enough";

    options.limits = {};
    options.limits.text_bytes = 1; // the index alone is more
    EXPECT_EQ(countOf(**readKinetoText("{\"traceEvents\":[" + events + "]}", options), "too_many_events"), 1U);
    options.limits = {};
    options.limits.tracks = 1;
    EXPECT_EQ(countOf(**readKinetoText("{\"traceEvents\":[" + events + "]}", options), "too_many_events"), 1U);
}

TEST(KinetoHostile, TimesBeyondAnyClock) {
    const TracePtr t =
        readEvents(kernel("plus", R"("ts":9.2e15,"dur":5)") + "," + kernel("minus", R"("ts":-9.2e15,"dur":5)") + "," +
                   kernel("long", R"("ts":1,"dur":9.2e15)") + "," + kGood);
    EXPECT_EQ(t->slices.size(), 2U);
    EXPECT_EQ(countOf(*t, "far_time"), 2U);
    EXPECT_EQ(countOf(*t, "long_duration"), 1U);
    EXPECT_EQ(t->counts.dropped, 2U);
    EXPECT_LT(t->end - t->begin, 10'000);
    // A clock that counts from 1970 is none of these.
    EXPECT_EQ(readEvents(kernel("now", R"("ts":1764444444123456.789,"dur":5)"))->slices.size(), 1U);
}

TEST(KinetoHostile, WhatIsNotUnderstoodIsCounted) {
    const TracePtr t = readEvents(
        kernel("a", R"("ts":1,"dur":1)", R"("correlation":"abc","grid":"many","block":[1,2,3])") + "," +
        kernel("b", R"("ts":2,"dur":1)", R"("correlation":null,"grid":[1,-1,1],"block":[1,2])") + "," +
        "{\"ph\":\"X\",\"na\xFFme\":\"lost\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}," +
        R"x({"ph":"X","cat":"cpu_op","name":"triton_","pid":1,"tid":1,"ts":3,"dur":2,"args":{"grid":"grid(100,)"}})x");
    EXPECT_EQ(t->slices.size(), 4U);
    EXPECT_EQ(countOf(*t, "bad_id"), 1U);
    EXPECT_EQ(countOf(*t, "bad_grid"), 2U) << "of kernels; Triton's operators have a text there";
    EXPECT_EQ(countOf(*t, "bad_key"), 1U);
}

TEST(KinetoHostile, ACutIsCalledOne) {
    const std::string whole = "{\"schemaVersion\":1,\"traceEvents\":[" + kGood + "," + kGood + "]}";
    const auto found = [&](std::size_t bytes) { return readKinetoText(whole.substr(0, bytes)).error().found; };
    EXPECT_EQ(found(10), "JSON that is cut off before its traceEvents array");
    EXPECT_EQ(found(whole.find('[') + 1), "JSON that is cut off before its first event");
    EXPECT_EQ(found(whole.find('[') + 20), "JSON that is cut off in its first event");
    EXPECT_EQ(readKinetoText("{\"a\":1}").error().found, "JSON without a traceEvents array");
    const TracePtr t = read(whole.substr(0, whole.size() - 20));
    ASSERT_EQ(t->problems.size(), 1U);
    EXPECT_EQ(t->problems[0].message, "the file ends in the middle of an event");
}

TEST(KinetoHostile, AnEventThatIsTooLongIsOneProblem) {
    std::string huge = kGood;
    huge.insert(huge.find("aten::add"), 20'000'000, 'N');
    const std::string begin = "{\"traceEvents\":[" + kGood + "," + huge;
    KinetoTextOptions options;
    options.batch_bytes = 100'000; // it goes on through many batches
    const TracePtr last = *readKinetoText(begin + "]}", options);
    const TracePtr between = *readKinetoText(begin + "," + kGood + "]}", options);
    EXPECT_EQ(last->slices.size(), 1U);
    EXPECT_EQ(between->slices.size(), 2U);
    for (const TracePtr& t : {last, between}) {
        ASSERT_EQ(t->problems.size(), 1U) << t->problems.back().message;
        EXPECT_EQ(t->problems[0].kind, "huge_event");
        EXPECT_EQ(t->problems[0].count, 1U);
    }
}

TEST(KinetoHostile, TwoTracesInOneFile) {
    const std::string one = "{\"traceEvents\":[" + kGood + "]}\n";
    const TracePtr t = read(one + one);
    EXPECT_EQ(t->slices.size(), 1U);
    ASSERT_EQ(t->problems.size(), 1U);
    EXPECT_EQ(t->problems[0].kind, "after_end");
    EXPECT_EQ(t->problems[0].first_offset, one.size());
    EXPECT_TRUE(read(one + std::string(5, '\0'))->problems.empty()) << "padding";
}

TEST(KinetoHostile, AFileThatShrinksWhileItIsRead) {
    const test::TempDir dir;
    const std::string path = dir.file("trace.json");
    std::string text = "{\"traceEvents\":[";
    for (int i = 0; i < 2000; ++i) text += kGood + ",";
    std::ofstream(path, std::ios::binary) << text << kGood << "]}";
    const auto file = InputFile::open(path, "a trace");
    ASSERT_TRUE(file.ok());
    chrome::FileSource source(*file, 10'000);
    chrome::Batch batch;
    ASSERT_TRUE(source.next(batch));
    EXPECT_FALSE(batch.last);
    std::filesystem::resize_file(path, 12'000);
    source.recycle(std::move(batch));
    ASSERT_TRUE(source.next(batch));
    EXPECT_TRUE(batch.last);
    EXPECT_EQ(batch.offset + batch.text.size(), 12'000U);
    EXPECT_FALSE(source.next(batch));
    EXPECT_TRUE(file->changed());
}

TEST(KinetoHostile, ArgumentsOfAFileThatWasRewritten) {
    const test::TempDir dir;
    const std::string path = dir.file("trace.json");
    const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::binary) << text; };
    write("{\"traceEvents\":[" + kGood + "]}");
    Progress progress;
    const auto trace = readKinetoTrace(path, false, progress);
    ASSERT_TRUE(trace.ok());
    EXPECT_EQ(*readArgsText(**trace, SliceId(0)), R"({"External id":3})");
    write("{\"traceEvents\":[]}" + std::string(300, ' '));
    ASSERT_FALSE(readArgsText(**trace, SliceId(0)).ok());
    EXPECT_EQ(readArgsText(**trace, SliceId(0)).error().found, "a file changed since then");
}

} // namespace
} // namespace fusescope::testing
