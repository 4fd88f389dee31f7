// SPDX-License-Identifier: Apache-2.0
// Two ranks in one file, as people merge them, made of the sample twice: each must come out as the file that it was.
#include "core/base/inflate.h"
#include "sample.h"
#include "tests/support/files.h"

#include <string>
#include <string_view>
#include <utility>

namespace fusescope::testing {
namespace {

std::string sampleText() {
    std::string text;
    const InflateEnd end =
        inflateGzip(test::readFile(kSampleTrace), std::uint64_t{1} << 30, [&](std::string_view piece) {
            text += piece;
            return true;
        });
    EXPECT_TRUE(end.complete);
    return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

// The events of the file: what stands between the brackets.
std::string eventsOf(const std::string& text) {
    const std::size_t begin = text.find('[', text.find("\"traceEvents\"")) + 1, end = text.rfind(']');
    return text.substr(begin, end - begin);
}

// The sample's events and those of a second rank behind them.
AnalysisPtr analysedWith(const std::string& second_rank, const AnalyzeOptions& options = {}) {
    static const std::string text = sampleText();
    const std::string events = eventsOf(text);
    const test::TempDir folder;
    const std::string path = folder.file("merged.json");
    test::writeFile(path, replaced(text, events, events + "," + second_rank));
    return analysed({path}, options);
}

// Each step as the sample's, and nothing that the user would have to be told.
void expectTwice(const AnalysisPtr& merged) {
    ASSERT_TRUE(merged);
    const Analysis& one = traceOnly();
    ASSERT_EQ(merged->steps.size(), 2 * one.steps.size());
    for (std::size_t i = 0; i < merged->steps.size(); ++i) {
        const StepStats &step = merged->steps[i], &was = one.steps[i / 2]; // by time: both ranks' first
        EXPECT_EQ(step.kernels, was.kernels) << i;
        EXPECT_EQ(step.launches, was.launches) << i;
        EXPECT_DOUBLE_EQ(step.kernel_ns, was.kernel_ns) << i;
        EXPECT_DOUBLE_EQ(step.wall_ns, was.wall_ns) << i;
    }
    ASSERT_EQ(merged->findings.size(), one.findings.size());
    for (std::size_t i = 0; i < one.findings.size(); ++i) {
        EXPECT_EQ(merged->findings[i].id, one.findings[i].id);
        EXPECT_EQ(merged->findings[i].instances.size(), one.findings[i].instances.size()) << one.findings[i].id;
        EXPECT_DOUBLE_EQ(merged->findings[i].time_ns, one.findings[i].time_ns) << one.findings[i].id;
    }
    for (const Problem& problem : merged->trace->problems) {
        EXPECT_NE(problem.kind, "reused_correlation");
        EXPECT_NE(problem.kind, "before_its_launch");
    }
}

TEST(MergedRanks, WithNumbersOfTheirOwn) { // GPU 1 and another process
    const std::string second =
        replaced(replaced(eventsOf(sampleText()), "\"pid\": 0,", "\"pid\": 1,"), "\"device\": 0,", "\"device\": 1,");
    const AnalysisPtr merged = analysedWith(replaced(second, "\"pid\": 415,", "\"pid\": 100415,"));
    expectTwice(merged);
    EXPECT_TRUE(merged->trace->several_processes);
    EXPECT_EQ(merged->steps[0].name, "ProfilerStep#3 of process 415");
    EXPECT_EQ(merged->steps[1].name, "ProfilerStep#3 of process 100415");
}

TEST(MergedRanks, OnOneGpuNumber) { // each rank sees one GPU, number 0
    expectTwice(analysedWith(replaced(eventsOf(sampleText()), "\"pid\": 415,", "\"pid\": 100415,")));
}

TEST(MergedRanks, AStepIsFoundByItsNumberAndEitherName) { // a session of one rank's file has "4" or "ProfilerStep#4"
    const std::string second = replaced(eventsOf(sampleText()), "\"pid\": 415,", "\"pid\": 100415,");
    for (const auto& [wanted, step] :
         {std::pair{"3", 0}, {"ProfilerStep#4", 2}, {"ProfilerStep#3 of process 100415", 1}}) {
        AnalyzeOptions options;
        options.step = wanted;
        const AnalysisPtr merged = analysedWith(second, options);
        ASSERT_TRUE(merged) << wanted;
        EXPECT_EQ(merged->step, step) << wanted;
    }
}

TEST(MergedRanks, WithNamesForNumbers) {
    const std::string second = replaced(eventsOf(sampleText()), "\"pid\": 0,", "\"pid\": \"rank1 0\",");
    const AnalysisPtr merged = analysedWith(replaced(second, "\"pid\": 415,", "\"pid\": \"rank1 415\","));
    expectTwice(merged);
    EXPECT_EQ(merged->steps[1].name, "ProfilerStep#3 of rank1 415");
}

} // namespace
} // namespace fusescope::testing
