// SPDX-License-Identifier: Apache-2.0
// Damage as it stands in users' reports: the neighbours of a bad event survive, and what was lost is counted and
// placed.
#include "kineto_text.h"

namespace fusescope::testing {
namespace {

TEST(KinetoDamage, AKeyThatLostItsQuote) { // pytorch 33961
    const TracePtr t =
        readEvents(kGood + R"(,{"ph":"f","ts":10.5,tid": 0,"id":0,"name":"add"},)" + kernel("k", R"("ts":5,"dur":1)"));
    EXPECT_EQ(t->slices.size(), 2U);
    EXPECT_EQ(countOf(*t, "bad_event"), 1U);
    EXPECT_NE(rowOf(*t, "k"), static_cast<std::size_t>(-1));
}

TEST(KinetoDamage, TheOffsetOfABadEventIsItsOwn) {
    const std::string head = "{\"traceEvents\":[" + kGood + ",\n";
    const TracePtr t = read(head + R"({"ph":"X",broken},)" + kGood + "]}");
    ASSERT_EQ(t->problems.size(), 1U);
    EXPECT_EQ(t->problems[0].first_offset, head.size());
    EXPECT_EQ(t->slices.size(), 2U);
}

TEST(KinetoDamage, BareInfinityAndNotAvailable) { // kineto 105, 131
    for (const char* word : {"inf", "-inf", "nan", "NaN", "Infinity", "-Infinity", "N/A"}) {
        const TracePtr t = readEvents(
            R"x({"ph":"X","cat":"gpu_memcpy","name":"Memcpy","pid":0,"tid":7,"ts":1,"dur":0,"args":{"bytes":200,"memory bandwidth (GB/s)":)x" +
            std::string(word) + "}}," + kGood);
        EXPECT_EQ(t->slices.size(), 2U) << word;
        ASSERT_EQ(t->copies.size(), 1U) << word;
        EXPECT_EQ(t->copies.bytes[0], 200U) << word;
        EXPECT_EQ(countOf(*t, "bad_event"), 0U) << word;
    }
}

TEST(KinetoDamage, WindowsPathsKeepTheirBackslashes) { // kineto 617
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"python_function","name":"torch\cuda\__init__.py(219): f","pid":1,"tid":1,"ts":1,"dur":1},)" +
        kGood);
    EXPECT_EQ(t->nameOf(SliceId(1)).find("torch\\cuda\\__init__.py"), 0U);
    EXPECT_EQ(t->slices.size(), 2U);
}

TEST(KinetoDamage, ControlCharactersAndBadBytes) { // pytorch 136180, kineto 988
    const TracePtr t = readEvents(
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"a\x01S(1)\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"\xF0\x28\x22,\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":1}," +
        kGood);
    EXPECT_EQ(t->slices.size(), 3U);
    EXPECT_EQ(countOf(*t, "repaired_event"), 2U);
    EXPECT_NE(rowOf(*t, "\xEF\xBF\xBD("), static_cast<std::size_t>(-1));
}

TEST(KinetoDamage, SurrogatePairsAreOneCharacter) {
    const TracePtr t =
        readEvents(R"({"ph":"X","cat":"user_annotation","name":"step \ud83d\ude80","pid":1,"tid":1,"ts":1,"dur":1},)"
                   R"({"ph":"X","cat":"user_annotation","name":"half \ud83d","pid":1,"tid":1,"ts":5,"dur":1})");
    ASSERT_EQ(t->slices.size(), 2U);
    EXPECT_EQ(t->nameOf(SliceId(0)), "step \xF0\x9F\x9A\x80");
    EXPECT_EQ(t->nameOf(SliceId(1)), "half \xEF\xBF\xBD");
}

TEST(KinetoDamage, TrailingCommasAndEmptyEvents) { // perfetto 1822, 6251
    EXPECT_EQ(readEvents(kGood + ",")->slices.size(), 1U);
    EXPECT_EQ(readEvents(kGood + ",{}")->slices.size(), 1U);
    EXPECT_EQ(readEvents(kGood + "\n" + kGood)->slices.size(), 2U); // no comma between
}

TEST(KinetoDamage, AKilledWriterLeavesAnArrayWithoutAnEnd) { // perfetto 926
    const TracePtr t = read("[\n" + kGood + ",");
    EXPECT_EQ(t->slices.size(), 1U);
    EXPECT_EQ(countOf(*t, "truncated"), 1U);
}

TEST(KinetoDamage, CutInTheMiddleOfAnEvent) {
    const std::string whole = "{\"traceEvents\":[" + kGood + "," + kGood + "]}";
    const std::size_t second = 16 + kGood.size() + 1;
    for (std::size_t cut = second + 1; cut < second + kGood.size(); ++cut) {
        const TracePtr t = read(whole.substr(0, cut));
        EXPECT_EQ(t->slices.size(), 1U) << cut;
        EXPECT_EQ(countOf(*t, "truncated"), 1U) << cut;
    }
}

TEST(KinetoDamage, NoEventsAtAllIsAnError) {
    EXPECT_FALSE(readKinetoText("{\"traceEvents\":[]}").ok());
    EXPECT_EQ(readKinetoText("{\"nodes\":[]}").error().found, "JSON without a traceEvents array");
    EXPECT_EQ(readKinetoText("").error().found, "no text at all");
    EXPECT_EQ(readKinetoText("hello").error().found, "text that is not JSON");
}

TEST(KinetoDamage, BracketsInStringsEndNothing) { // kineto 888
    const TracePtr t = read("{\"note\":\"]}\",\"traceEvents\":[" + kGood + "],\"traceName\":\"a]b}.json\"}");
    EXPECT_EQ(t->slices.size(), 1U);
    EXPECT_TRUE(t->problems.empty());
}

TEST(KinetoDamage, AWordIsNoNumber) { // each pid and tid its own, also where words stand beside negative numbers
    std::string events;
    for (const char* pid : {"-2", "-3", "\"a\"", "\"b\""})
        events += std::string(events.empty() ? "" : ",") + R"({"ph":"X","cat":"cpu_op","name":"x","pid":)" + pid +
                  R"(,"tid":1,"ts":1,"dur":1,"args":{}})";
    EXPECT_EQ(read("[" + events + "]")->tracks.size(), 4U);
}

TEST(KinetoDamage, OldExporters) { // kineto 728: array root, pid a word, times whole
    const TracePtr t = read(R"([{"name":"aten::mul","ph":"X","ts":633,"dur":54,"tid":1,"pid":"CPU functions","args":{}},
                               {"name":"k","cat":"Kernel","ph":"X","ts":640,"dur":4,"tid":"stream 7","pid":0,"args":{"correlation":8}}])");
    EXPECT_EQ(t->slices.size(), 2U);
    EXPECT_EQ(t->slices.ts[0], 633'000);
    EXPECT_EQ(t->kernels.size(), 1U);
}

TEST(KinetoDamage, IntegersBeyond64Bits) { // HTA PR 324
    const TracePtr t =
        readEvents(kernel("k", R"("ts":1,"dur":1)", R"("Comms Id":18446744073709551000,"correlation":99999999999)"));
    ASSERT_EQ(t->kernels.size(), 1U);
    EXPECT_EQ(t->slices.correlation[0], 0U); // no 32-bit correlation: linked by other means, never to a wrong launch
}

TEST(KinetoDamage, HostAndDeviceAreToldApartByCategory) { // kineto PR 1061: both are pid 0 in a container
    const TracePtr t = readEvents(R"({"ph":"X","cat":"cpu_op","name":"op","pid":0,"tid":7,"ts":1,"dur":9},)" +
                                  kernel("k", R"("ts":2,"dur":1)"));
    ASSERT_EQ(t->tracks.size(), 2U);
    EXPECT_EQ(t->tracks[t->slices.track[rowOf(*t, "op")].index()].kind, TrackKind::CpuThread);
    EXPECT_EQ(t->tracks[t->slices.track[rowOf(*t, "k")].index()].kind, TrackKind::GpuStream);
}

TEST(KinetoDamage, StreamsGivenAsText) { // pytorch PR 134893
    const TracePtr t = readEvents(
        R"x({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"stream":"7","device":0,"grid":"grid(100,)"}})x");
    ASSERT_EQ(t->kernels.size(), 1U);
    EXPECT_EQ(t->kernels.stream[0], 7);
}

TEST(KinetoDamage, SynchronisationRowsAreNotGpuWork) { // HTA PR 162
    const TracePtr t = readEvents(
        R"({"ph":"X","cat":"cuda_sync","name":"Stream Sync","pid":0,"tid":1000007,"ts":1,"dur":50,"args":{"stream":7}},)" +
        kernel("k", R"("ts":2,"dur":1)"));
    EXPECT_EQ(t->kernels.size(), 1U);
    EXPECT_EQ(t->copies.size(), 0U);
    EXPECT_NE(t->slices.track[rowOf(*t, "Stream Sync")], t->slices.track[rowOf(*t, "k")]);
}

TEST(KinetoDamage, ALostQuoteInACompactFileSwallowsOneEventOnly) {
    std::string events = R"({"ph":"X","cat":"cpu_op","name":"lost,"pid":1,"tid":1,"ts":1,"dur":1})";
    for (int i = 0; i < 1000; ++i)
        events += "," + kernel("k" + std::to_string(i), "\"ts\":" + std::to_string(10 + 2 * i) + ",\"dur\":1");
    const TracePtr t = readEvents(events);
    EXPECT_EQ(t->kernels.size(), 1000U);
    EXPECT_EQ(countOf(*t, "bad_event"), 1U);
}

TEST(KinetoDamage, TextMadeToBeFramedForEverEnds) {
    std::string text = "{\"traceEvents\":[" + kGood + ",";
    for (int i = 0; i < 200000; ++i) text += "{\"ph\":\"";
    const TracePtr t = read(text);
    EXPECT_GE(t->slices.size(), 1U);
    EXPECT_FALSE(t->problems.empty());
}

TEST(KinetoDamage, DeepNestingDoesNotOverflow) {
    std::string args = "{\"a\":";
    for (int i = 0; i < 5000; ++i) args += "[";
    const TracePtr t =
        readEvents(kGood + R"(,{"ph":"X","cat":"cpu_op","name":"deep","pid":1,"tid":1,"ts":5,"dur":1,"args":)" + args +
                   std::string(5000, ']') + "}}," + kGood);
    EXPECT_GE(t->slices.size(), 2U); // the two good ones at least
}

} // namespace
} // namespace fusescope::testing
