// SPDX-License-Identifier: Apache-2.0
#include "core/draw/draw_list.h"
#include "core/report/report.h"
#include "tests/support/measured.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace fusescope {
namespace {

std::string html(const testing::SyntheticOptions& options = {}) {
    return analysisHtml(*testing::syntheticAnalysis(options), layeredLayout);
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

// The body is written as XML but for the page's head, so the same check serves.
std::string bodyProblem(const std::string& page) {
    const std::size_t begin = page.find("<body>"), end = page.find("</html>");
    if (begin == std::string::npos || end == std::string::npos) return "no body";
    return testing::xmlProblem(std::string_view(page).substr(begin, end - begin));
}

TEST(Html, HasEverySection) {
    const std::string page = html();
    for (const char* id :
         {"findings", "graph", "timeline", "roofline", "kernels", "operators", "modules", "steps", "link", "method"})
        EXPECT_TRUE(has(page, "id=\"" + std::string(id) + "\"")) << id;
    EXPECT_EQ(count(page, "<svg "), 3U);
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_TRUE(has(page, "NVIDIA H200"));
    EXPECT_TRUE(has(page, "worth it"));
    EXPECT_TRUE(has(page, "prefers-color-scheme:dark"));
    EXPECT_TRUE(has(page, "@media print"));
}

TEST(Html, IsSelfContainedAndRunsNothing) {
    const std::string page = html();
    for (const char* bad : {"<script", "javascript:", "<link", "@import", "url(http", "src=", "<iframe", " onclick"})
        EXPECT_FALSE(has(page, bad)) << bad;
    // The only address is the name of SVG's XML namespace.
    EXPECT_EQ(count(page, "http://"), count(page, "http://www.w3.org/2000/svg"));
    EXPECT_FALSE(has(page, "https://"));
}

// One shape of the first finding, saving 60 µs an instance; a hostile runner's words stay text.
MeasuredSet measuredOf(const Analysis& a, bool gpu) {
    MeasuredResult m;
    m.finding = a.findings.front().id;
    m.instance_class = instanceClasses(a, a.findings.front()).front().name;
    m.shape = "<b>hostile</b>";
    m.versions = "torch <script>";
    m.runner = "ssh someones-host fusescope-runner";
    m.result.device = gpu ? a.device.name : "CPU (reference kernels)";
    m.result.on_gpu = gpu;
    Comparison& c = m.result.directions.emplace_back();
    c.direction = "forward";
    c.has_fused = true;
    c.baseline.us = {80, 79, 81};
    c.fused.us = {20, 19, 21};
    MeasuredSet set;
    set.set(m);
    return set;
}

TEST(Html, MeasuredStandsBesideThePrediction) {
    const Analysis a = testing::syntheticAnalysisValue();
    const std::string plain = analysisHtml(a, layeredLayout),
                      page = analysisHtml(a, layeredLayout, measuredOf(a, true));
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_FALSE(has(plain, "<h4>Measured</h4>"));
    EXPECT_EQ(count(page, "<h4>Measured</h4>"), 1U);
    EXPECT_TRUE(has(page, "80.0 µs ±1%"));
    EXPECT_TRUE(has(page, "4.00x"));
    EXPECT_TRUE(has(page, "<p><b>predicted"));
    EXPECT_FALSE(has(page, "<script"));
    EXPECT_FALSE(has(page, "<b>hostile"));
    EXPECT_TRUE(has(page, "never more than they take"));
    EXPECT_FALSE(has(page, "someones-host")); // a page is handed on
    EXPECT_FALSE(has(analysisMarkdown(a, measuredOf(a, true)), "someones-host"));
    const std::string cpu = analysisHtml(a, layeredLayout, measuredOf(a, false));
    EXPECT_TRUE(has(cpu, "Ran on the CPU"));
    EXPECT_FALSE(has(cpu, "<p><b>predicted"));
    EXPECT_EQ(bodyProblem(cpu), "");
}

TEST(Html, OutlinesAreOfTheMeasuredVerdict) {
    const Analysis a = testing::syntheticAnalysisValue();
    const auto flagged = [&](const MeasuredSet& set) {
        const std::string page = analysisHtml(a, layeredLayout, set);
        const std::size_t begin = page.find("<h2 id=\"graph\""), end = page.find("<h2 id=\"roofline\"");
        const std::string fill = "class=\"f" + std::to_string(static_cast<int>(ColourRole::Flagged)) + "\"";
        return count(page.substr(begin, end - begin), fill);
    };
    EXPECT_LT(flagged(testing::measuredAs(a, 0, 2)), flagged({})); // twice as slow: no longer worth fusing
}

TEST(Html, WhatAFusedFormLeavesIsNotPutAway) {
    Analysis a = testing::syntheticAnalysisValue();
    Finding& f = a.findings.back();
    f.state = FusionState::Fused;
    f.verdict = Verdict::AlreadyFused;
    f.saving_ns = {};
    const auto shown = [&] { // before what is folded away
        const std::string page = analysisHtml(a, layeredLayout);
        return page.substr(0, page.find("are fused already</summary>"));
    };
    const std::string card = "id=\"f-" + f.id + "\"";
    const std::size_t folded = count(shown(), card);
    f.headroom = "A mask.";
    f.headroom_ns = 2e6;
    EXPECT_EQ(folded, 0U);
    EXPECT_EQ(count(shown(), card), 1U);
    EXPECT_TRUE(has(shown(), "up to 2.00 ms a step left"));
}

TEST(Html, AnUnsteadySpeedupSaysSoBesideTheFigure) {
    const Analysis a = testing::syntheticAnalysisValue();
    MeasuredResult hasty = measuredOf(a, true).results().begin()->second, wild = hasty;
    Comparison &few = hasty.result.directions[0], &apart = wild.result.directions[0];
    few.baseline.us.rounds = few.fused.us.rounds = 2;
    apart.baseline.us = {80, 21, 190, 20}; // 21 / 21 to 190 / 19
    apart.fused.us.rounds = 20;
    for (const auto& [result, doubt] : {std::pair(&hasty, "2 rounds"), std::pair(&wild, "1.00x to 10.0x")}) {
        MeasuredSet set;
        set.set(*result);
        const std::string page = analysisHtml(a, layeredLayout, set), text = analysisMarkdown(a, set);
        for (const std::string& report : {page, text}) {
            EXPECT_TRUE(has(report, "4.00x (" + std::string(doubt) + ")")) << doubt;
            EXPECT_TRUE(has(report, "not certain (" + std::string(doubt) + ")")) << doubt;
            EXPECT_TRUE(has(report, "to tell a speedup (" + std::string(doubt) + "). The prediction stays."));
        }
        EXPECT_TRUE(has(page, "measured, but in unsteady runs"));
        EXPECT_FALSE(has(page, "<p><b>predicted"));
    }
}

// Two of the kernels that no finding has, as one region; a hostile title stays text.
ChosenPtr regionOf(const Analysis& a) {
    auto region = std::make_shared<ChosenRegion>();
    region->id = "nodes.00000001";
    region->title = "mul <script>";
    region->module = "model.layers.0";
    region->nodes = {"mul", "add"};
    region->limit_ns = 10'000;
    region->limit_backward_ns = 15'000;
    region->has_form = true;
    region->work.id = region->id;
    Instance one;
    for (std::size_t k = 0; k < a.trace->kernels.size() && one.forward.size() < 2; ++k) {
        const bool taken = std::any_of(a.findings.begin(), a.findings.end(), [&](const Finding& f) {
            return std::any_of(f.instances.begin(), f.instances.end(), [&](const Instance& i) {
                const auto has = [&](const auto& list) {
                    return std::find(list.begin(), list.end(), KernelId(k)) != list.end();
                };
                return has(i.forward) || has(i.backward);
            });
        });
        const SliceId slice = a.trace->kernels.slice[k];
        if (taken || a.trace->slices.step[slice.index()] != a.step) continue;
        one.forward.emplace_back(k);
        one.forward_ns += static_cast<double>(a.trace->slices.dur[slice.index()]);
    }
    region->work.time_ns = one.forward_ns;
    region->work.instances = {one};
    return region;
}

MeasuredSet measuredOf(const Analysis& a, const ChosenRegion& region, bool gpu) {
    MeasuredResult m = measuredOf(a, gpu).results().begin()->second;
    m.finding = region.id;
    m.instance_class = instanceClasses(a, region.work).front().name;
    const double us = region.work.instances[0].forward_ns / 1000;
    m.result.directions[0].baseline.us = {us, us, us, 20};
    m.result.directions[0].fused.us = {us / 4, us / 4, us / 4, 20};
    MeasuredSet set;
    set.set(m);
    return set;
}

TEST(Html, RegionsOfTheUsersOwnHaveASection) {
    const Analysis a = testing::syntheticAnalysisValue();
    const ChosenPtr region = regionOf(a);
    ASSERT_EQ(region->work.instances[0].forward.size(), 2u);
    const std::vector<ChosenPtr> mine{region};
    const std::string page = analysisHtml(a, layeredLayout, measuredOf(a, *region, true), mine);
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_TRUE(has(page, "id=\"regions\""));
    EXPECT_TRUE(has(page, "href=\"#regions\""));
    EXPECT_TRUE(has(page, "mul &lt;script&gt;"));
    EXPECT_TRUE(has(page, "2 nodes of model.layers.0, once per step"));
    EXPECT_TRUE(has(page, "Counted in the step, beside the plan."));
    EXPECT_TRUE(has(page, "Limit of any fused kernel: 10.0 µs forward"));
    EXPECT_FALSE(has(page, "<p><b>predicted")); // nobody predicted it
    EXPECT_TRUE(has(page, " and 1 region of yours"));
    EXPECT_FALSE(has(analysisHtml(a, layeredLayout), "id=\"regions\""));
    const std::string cpu = analysisHtml(a, layeredLayout, measuredOf(a, *region, false), mine);
    EXPECT_TRUE(has(cpu, "Nothing of it counts in the step."));
    EXPECT_FALSE(has(cpu, "The prediction stays."));
    EXPECT_FALSE(has(cpu, "region of yours"));

    const std::string json = analysisJson(a, measuredOf(a, *region, true), mine);
    EXPECT_TRUE(has(json, "\"id\": \"nodes.00000001\""));
    EXPECT_TRUE(has(json, "\"counts_in_step\": true"));
    EXPECT_TRUE(has(json, "\"limit_us\": 10,"));
    EXPECT_TRUE(has(json, "\"limit_backward_us\": 15,"));
    EXPECT_TRUE(has(json, "\"own_regions\": 1"));
    EXPECT_TRUE(has(analysisJson(a), "\"regions\": []"));
    const std::string md = analysisMarkdown(a, measuredOf(a, *region, true), mine);
    EXPECT_TRUE(has(md, "## Your regions"));
    EXPECT_TRUE(has(md, "| `nodes.00000001` "));
    EXPECT_FALSE(has(md, "<script>"));
}

TEST(Html, TheMeasuredStepIsDrawn) {
    const Analysis a = testing::syntheticAnalysisValue();
    const std::vector<ChosenPtr> mine{regionOf(a)};
    const MeasuredSet set = measuredOf(a, *mine[0], true);
    const std::string plain = analysisHtml(a, layeredLayout), page = analysisHtml(a, layeredLayout, set, mine);
    EXPECT_FALSE(has(plain, "Timeline of the step after fusing"));
    EXPECT_TRUE(has(page, "Timeline of the step after fusing"));
    EXPECT_TRUE(has(page, "measured so far: fused kernels are outlined in green"));
    EXPECT_TRUE(has(page, "fused, as measured")); // the legend of the timeline
    EXPECT_FALSE(has(plain, "fused, as measured"));
    const std::string cpu = analysisHtml(a, layeredLayout, measuredOf(a, *mine[0], false), mine);
    EXPECT_FALSE(has(cpu, "Timeline of the step after fusing"));
    EXPECT_EQ(bodyProblem(page), "");
}

TEST(Html, HostileNamesStayText) {
    testing::SyntheticOptions options;
    options.name_suffix =
        std::string("\"'><script>alert(1)</script><img src=x onerror=alert(2)>&\x01\x1b[31m\xff</style></svg>") +
        "\u202E\n";
    const std::string page = html(options);
    EXPECT_FALSE(has(page, "<script"));
    EXPECT_FALSE(has(page, "<img"));
    EXPECT_EQ(count(page, "</style>"), 1U);
    EXPECT_TRUE(has(page, "&lt;script&gt;"));
    EXPECT_EQ(bodyProblem(page), "");
    for (const char c : page) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << static_cast<int>(c);
}

TEST(Html, HugeNamesAreCut) {
    testing::SyntheticOptions options;
    options.layers = 2;
    const std::size_t plain = html(options).size();
    options.name_suffix = std::string(100'000, 'A');
    const std::string page = html(options);
    EXPECT_LT(page.size(), plain + 600'000);
    EXPECT_EQ(bodyProblem(page), "");
}

TEST(Html, GraphAlone) {
    testing::SyntheticOptions options;
    options.trace = false;
    const std::string page = html(options);
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_TRUE(has(page, "Only a model graph was opened"));
    EXPECT_TRUE(has(page, "id=\"graph\""));
    EXPECT_FALSE(has(page, "id=\"timeline\""));
    EXPECT_FALSE(has(page, "href=\"#timeline\""));
}

TEST(Html, TraceAlone) {
    testing::SyntheticOptions options;
    options.graph = false;
    const std::string page = html(options);
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_TRUE(has(page, "Only a trace was opened"));
    EXPECT_FALSE(has(page, "id=\"graph\""));
    EXPECT_TRUE(has(page, "name no modules"));
}

TEST(Html, NothingAtAll) {
    const std::string page = analysisHtml({}, layeredLayout);
    EXPECT_EQ(bodyProblem(page), "");
    EXPECT_TRUE(has(page, "Nothing that looks fusable"));
    EXPECT_TRUE(has(page, "assumed"));
}

TEST(Html, ProblemsAreTold) {
    Analysis a = testing::syntheticAnalysisValue();
    auto trace = std::make_shared<TraceStore>();
    trace->problems.push_back({"truncated", 1, 4711, "The file ends in the middle of an event."});
    Analysis b;
    b.trace = trace;
    b.file_errors.push_back({ErrorCode::WrongFormat, "a trace", "a picture", "cat.png"});
    const std::string page = analysisHtml(b, layeredLayout);
    EXPECT_TRUE(has(page, "ends in the middle"));
    EXPECT_TRUE(has(page, "4711"));
    EXPECT_TRUE(has(page, "cat.png"));
}

} // namespace
} // namespace fusescope
