// SPDX-License-Identifier: Apache-2.0
// However a file is cut into batches and whoever decodes them, the trace is the same.
#include "core/io/chrome/event_start.h"
#include "core/io/chrome/root_scanner.h"
#include "kineto_text.h"

#include <random>
#include <sstream>
#include <vector>

namespace fusescope::testing {
namespace {

// Everything of a trace as text, to compare with.
std::string dump(const TraceStore& t) {
    std::ostringstream out;
    for (std::size_t row = 0; row < t.slices.size(); ++row)
        out << t.slices.ts[row] << ' ' << t.slices.dur[row] << ' ' << t.nameOf(SliceId(row)) << ' '
            << static_cast<int>(t.slices.category[row]) << ' ' << t.slices.track[row].value << ' '
            << t.slices.depth[row] << ' ' << t.slices.correlation[row] << ' ' << t.slices.args_offset[row] << '+'
            << t.slices.args_length[row] << '\n';
    for (const StringId dims : t.cpu_ops.dims) out << t.strings.view(dims) << '\n';
    for (const Problem& p : t.problems) out << p.kind << ' ' << p.count << " @" << p.first_offset << '\n';
    out << t.counts.total << ' ' << t.counts.dropped << ' ' << t.counts.flow << ' ' << t.with_stack;
    return out.str();
}

std::string opText(int i) {
    const std::string n = std::to_string(i);
    return R"({"ph":"X","cat":"cpu_op","name":"op)" + n + R"(","pid":1,"tid":1,"ts":)" + n +
           R"(.5,"dur":0.25,"args":{)" + R"("External id":)" + n + R"(,"Input Dims":[[)" + n +
           R"(,4],[]],"list":[{"name":"a"},{"name":"}{"},{"ph":1}]}})";
}

std::string someTrace(int events) {
    std::string text = R"({"schemaVersion":1,"with_stack":1,"note":"traceEvents: [","traceEvents":[)";
    for (int i = 1; i <= events; ++i) {
        if (i > 1) text += i % 3 == 0 ? ",\n  " : " , ";
        text += opText(i);
        if (i % 4 == 0) text += R"(,{"ph":"s","id":1,"ts":1,"name":"ac2g"})";
        if (i % 9 == 0) text += "," + kernel("a\\\\b\\\"]}{" + std::to_string(i), R"("ts":1,"dur":2)");
    }
    return text + R"(],"distributedInfo":{"a":[1,{"name":"x"}]},"traceName":"x]"})";
}

TracePtr readCut(const std::string& text, std::size_t batch, unsigned workers) {
    auto trace = readKinetoText(text, {"memory", workers, batch});
    EXPECT_TRUE(trace.ok()) << (trace.ok() ? "" : trace.error().message());
    return trace.ok() ? *trace : std::make_shared<const TraceStore>();
}

TEST(KinetoBatches, TheSameWhateverTheBatches) {
    const std::string text = someTrace(60);
    const std::string whole = dump(*readCut(text, std::size_t{1} << 20, 0));
    EXPECT_NE(whole.find("op60"), std::string::npos);
    for (std::size_t batch = 1; batch < 900; batch += batch < 100 ? 3 : 37)
        for (const unsigned workers : {0U, 2U}) EXPECT_EQ(dump(*readCut(text, batch, workers)), whole) << batch;
}

TEST(KinetoBatches, TheSameDamageWhateverTheBatches) {
    std::string text = "{\"traceEvents\":[";
    std::mt19937 random(11);
    for (int i = 1; i < 400; ++i) {
        std::string event = opText(i);
        if (i % 7 == 0) event[random() % event.size()] = "\"}{\\x\x01\xF0"[random() % 7];
        text += event + ",";
    }
    text += kGood + "]}";
    const TracePtr whole = readCut(text, std::size_t{1} << 20, 0);
    EXPECT_GE(whole->slices.size(), 340U); // 57 were hit, some harmlessly
    for (const std::size_t batch : {200U, 333U, 1000U, 4096U}) {
        const TracePtr cut = readCut(text, batch, 2);
        // Where a cut falls decides which of two damaged neighbours is given up; what is whole survives either way.
        EXPECT_NEAR(static_cast<double>(cut->slices.size()), static_cast<double>(whole->slices.size()), 3) << batch;
        EXPECT_EQ(cut->problems.empty(), whole->problems.empty());
    }
}

TEST(KinetoBatches, CutAnywhere) {
    std::string text = someTrace(8);
    for (std::size_t at = text.find(",{\"ph\":1}"); at != std::string::npos; at = text.find(",{\"ph\":1}"))
        text.erase(at, 9);
    const std::size_t begin = text.find("traceEvents\":[") + 14, end = text.rfind("\"distributedInfo\"") - 2;
    for (std::size_t cut = begin + opText(1).size() + 1 - 9; cut < text.size(); ++cut) {
        const TracePtr t = readCut(text.substr(0, cut), 300, 0);
        ASSERT_EQ(t->problems.size(), 1U) << cut << "\n" << dump(*t);
        EXPECT_EQ(t->problems[0].kind, "truncated");
        EXPECT_EQ(t->problems[0].count, 1U);
        if (cut > end) {
            EXPECT_EQ(t->cpu_ops.size(), 8U);
        }
    }
}

TEST(KinetoBatches, EventsInSeveralArrays) { // nobody writes this; nothing of it is lost all the same
    const TracePtr t = read("{\"traceEvents\":[" + kGood + "],\"x\":{\"traceEvents\":[" + kGood +
                            "]},\"traceEvents\":[" + kGood + "," + kGood + "]}");
    EXPECT_EQ(t->slices.size(), 3U);
    std::string many = "{\"traceEvents\":[" + kGood + "]";
    for (int i = 0; i < 50000; ++i) many += ",\"traceEvents\":[]";
    EXPECT_EQ(read(many + "}")->slices.size(), 1U);
}

TEST(EventStart, IsNeverInsideAString) {
    const std::string text = R"([{"ph":1},{ "name" : "},{\"ph\":2},{" },{"other":1},{"cat":"{"}])";
    std::vector<std::size_t> starts;
    for (std::size_t at = chrome::findEventStart(text, 0); at != chrome::kNowhere;
         at = chrome::findEventStart(text, at + 1))
        starts.push_back(at);
    EXPECT_EQ(starts, (std::vector<std::size_t>{1, 10, text.find("{\"cat\"")}));
    EXPECT_EQ(chrome::findLastEventStart(text), text.find("{\"cat\""));
    EXPECT_EQ(chrome::findLastEventStart("{\"ph\":1}"), chrome::kNowhere);
    EXPECT_FALSE(chrome::isEventStart(R"("args":{"name":"x"})", 7)); // a value, not an event
}

TEST(RootScanner, TheSameWhateverThePieces) {
    const std::string text =
        R"({ "schemaVersion": 1, "deviceProperties": [ {"id": 0, "name": "a]b\"}"} ], "traceEvents" : [)";
    for (std::size_t piece = 1; piece < 40; ++piece) {
        std::vector<std::pair<std::string, std::string>> values;
        chrome::RootScanner root([&](std::string_view key, std::string_view value, std::uint64_t offset) {
            values.emplace_back(key, value);
            EXPECT_EQ(text.substr(offset, value.size()), value);
        });
        for (std::size_t at = 0; at < text.size(); at += piece) root.feed(std::string_view(text).substr(at, piece));
        EXPECT_TRUE(root.inEvents());
        ASSERT_EQ(values.size(), 2U);
        EXPECT_EQ(values[0], (std::pair<std::string, std::string>("schemaVersion", "1")));
        EXPECT_EQ(values[1].second, R"([ {"id": 0, "name": "a]b\"}"} ])");
    }
}

} // namespace
} // namespace fusescope::testing
