// SPDX-License-Identifier: Apache-2.0
#include "core/base/format.h"
#include "core/draw/names.h"
#include "core/report/report.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace fusescope {
namespace {

TEST(Markdown, HasItsSections) {
    const std::string text = analysisMarkdown(*testing::syntheticAnalysis());
    for (const char* part : {"# FuseScope report", "## Findings", "## Plan", "## Top kernels", "## Problems",
                             "NVIDIA H200", "With the plan"})
        EXPECT_NE(text.find(part), std::string::npos) << part;
}

TEST(Markdown, RowsOfATableHaveTheirCells) {
    testing::SyntheticOptions options;
    options.name_suffix = "|`<b>*x*\n| --- |";
    std::istringstream text(analysisMarkdown(*testing::syntheticAnalysis(options)));
    std::size_t expected = 0, rows = 0;
    for (std::string line; std::getline(text, line);) {
        if (line.empty() || line[0] != '|') {
            expected = 0;
            continue;
        }
        std::size_t cells = 0;
        for (std::size_t i = 0; i < line.size(); ++i)
            if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++cells;
        if (expected == 0) expected = cells;
        EXPECT_EQ(cells, expected) << line;
        EXPECT_EQ(line.find("<b>"), line.find("<b>") == std::string::npos ? std::string::npos
                                    : line.find("`") < line.find("<b>")   ? line.find("<b>")
                                                                          : 0U)
            << line;
        ++rows;
    }
    EXPECT_GT(rows, 10U);
}

TEST(Markdown, NothingAtAll) {
    const std::string text = analysisMarkdown({});
    EXPECT_NE(text.find("Nothing that looks fusable"), std::string::npos);
    EXPECT_NE(text.find("RoPE"), std::string::npos);    // looked for
    EXPECT_EQ(text.find("QK-norm"), std::string::npos); // nobody looks for that in unfused form
}

// As in the window and in HTML: what was measured stands beside what was predicted, and its share of the step.
TEST(Markdown, AMeasuredSavingStandsInTheTable) {
    const Analysis a = testing::syntheticAnalysisValue();
    const Finding& f = a.findings[0];
    const std::string text = analysisMarkdown(a, testing::measuredAs(a, 0, 0.25));
    EXPECT_NE(text.find("| saving, predicted → measured |"), std::string::npos);
    const double saved = 0.75 * f.time_ns;
    const std::size_t row = text.find("`" + f.id + "`");
    ASSERT_NE(row, std::string::npos);
    const std::string line = text.substr(row, text.find('\n', row) - row);
    EXPECT_NE(line.find(" → " + formatDuration(saved) + " | " + shareText(saved / a.plan.step_ns)), std::string::npos)
        << line;
    EXPECT_EQ(analysisMarkdown(a).find("predicted → measured"), std::string::npos);
}

TEST(Markdown, WhatAFusedFormLeavesStandsUnderTheTable) {
    Analysis a = testing::syntheticAnalysisValue();
    EXPECT_EQ(analysisMarkdown(a).find("leaves something"), std::string::npos);
    a.findings.front().headroom = "It reads a *mask*.";
    const std::string text = analysisMarkdown(a);
    const std::size_t at = text.find("\n\n- **" + catalogEntry(a.findings.front().pattern).title +
                                     "**, fused already, leaves something: It reads a \\*mask\\*.\n");
    EXPECT_LT(at, text.find("## Plan")) << text;
}

TEST(Markdown, WaitsAreNotKernels) {
    Analysis a = testing::syntheticAnalysisValue();
    a.findings.front().time_ns = 143e6;
    a.findings.front().idle_ns = 126e6;
    EXPECT_NE(analysisMarkdown(a).find("143 ms: 17.0 ms kernels, 126 ms waiting for launches"), std::string::npos);
}

} // namespace
} // namespace fusescope
