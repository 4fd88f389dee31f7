// SPDX-License-Identifier: Apache-2.0
// Measured instances in the graph: labels, outlines, colours.
#include "core/base/format.h"
#include "core/draw/flagged.h"
#include "core/draw/svg.h"
#include "tests/core/draw/graph_scene.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace fusescope {
namespace {

// Every instance of a finding as measured: forward and backward.
std::vector<TimelineFused> measured(const Scene& s, Pattern pattern, double forward_ns, double backward_ns) {
    std::vector<TimelineFused> out;
    for (std::uint32_t f = 0; f < s.analysis.findings.size(); ++f)
        for (std::uint32_t i = 0; i < s.analysis.findings[f].instances.size(); ++i)
            if (s.analysis.findings[f].pattern == pattern) out.push_back({{f, i, nullptr}, forward_ns, backward_ns});
    return out;
}

const DrawRect* pillUnder(const DrawList& list, std::string_view words) {
    for (const DrawText& t : list.texts) {
        if (t.text != words) continue;
        for (const DrawRect& r : list.rects)
            if (r.filled && r.layer == t.layer && r.x < t.x && t.x < r.x + r.width && r.y < t.y && t.y < r.y + r.height)
                return &r;
    }
    return nullptr;
}

TEST(GraphFused, MeasuredInstancesOfAFoldShareOneLabel) {
    Scene s = scene(); // four layers, one drawn
    for (Finding& f : s.analysis.findings)
        for (Instance& i : f.instances)
            if (f.pattern == Pattern::SwiGlu) {
                i.forward_ns = 120'000;
                i.backward_ns = 200'000;
            }
    const std::vector<TimelineFused> fused = measured(s, Pattern::SwiGlu, 66'000, 84'000);
    ASSERT_EQ(fused.size(), 4u);
    const std::vector<FusedGroup> groups = fusedGroups(s.analysis, s.visible, fused);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(groups[0].instances, 4u);
    EXPECT_EQ(groups[0].boxes.size(), 1u); // the closed MLP
    EXPECT_DOUBLE_EQ(groups[0].fused_ns, 150'000);
    EXPECT_DOUBLE_EQ(groups[0].unfused_ns, 320'000);
    const std::string words = fusedText(s.analysis, groups[0]);
    EXPECT_EQ(words, "SwiGLU 320 µs → 150 µs ×4");

    const DrawList before = drawGraph(s.analysis, s.visible, s.layout, {});
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    EXPECT_EQ(boxOf(before, s, "mlp")->stroke, ColourRole::Flagged);
    EXPECT_EQ(boxOf(list, s, "mlp")->stroke, ColourRole::Good);
    EXPECT_TRUE(says(list, words));
    EXPECT_FALSE(says(before, words));
    const std::string& title = catalogEntry(Pattern::SwiGlu).title;
    const auto badge = [&](const DrawList& l) {
        return std::any_of(l.texts.begin(), l.texts.end(), [&](const DrawText& t) { return t.text == title; });
    };
    EXPECT_TRUE(badge(before));
    EXPECT_FALSE(badge(list)); // no longer worth fusing
    EXPECT_EQ(testing::xmlProblem(svgText(list, Theme::Dark)), "");
}

// A finding that was measured and does not pay is drawn neither as fused nor as worth fusing; one that was worth
// nothing as predicted is outlined once it is.
TEST(GraphFused, OutlinesAreOfTheMeasuredVerdict) {
    const Scene s = scene();
    std::vector<Verdict> verdicts(s.analysis.findings.size(), Verdict::NotBeneficial);
    Plan plan;
    for (std::size_t f = 0; f < verdicts.size(); ++f)
        if (s.analysis.findings[f].pattern == Pattern::SwiGlu) verdicts[f] = Verdict::WorthIt;
    const std::vector<std::uint32_t> one = worthMarking(s.analysis.findings, verdicts, plan), none;
    ASSERT_EQ(one.size(), 1u);
    EXPECT_EQ(boxOf(drawGraph(s.analysis, s.visible, s.layout, {}, {}, &one), s, "mlp")->stroke, ColourRole::Flagged);
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, {}, &none);
    EXPECT_TRUE(std::none_of(list.rects.begin(), list.rects.end(), [](const DrawRect& r) {
        return r.stroke == ColourRole::Flagged || r.fill == ColourRole::Flagged;
    }));
    SelectionSets picked; // what is selected is marked, whatever its verdict
    picked.findings = {one[0]};
    EXPECT_EQ(boxOf(drawGraph(s.analysis, s.visible, s.layout, picked, {}, &none), s, "mlp")->stroke,
              ColourRole::Flagged);
    // Marginal is marked, too; what shares work with a better one of the plan is not.
    verdicts[one[0]] = Verdict::Marginal;
    EXPECT_EQ(worthMarking(s.analysis.findings, verdicts, plan), one);
    std::vector<Finding> findings = s.analysis.findings;
    findings[one[0]].conflicts = {"better"};
    plan.findings = {"better"};
    EXPECT_EQ(worthMarking(findings, verdicts, plan), none);
}

TEST(GraphFused, AnEstimateIsNotWhatItTook) {
    Scene s = scene();
    for (Finding& f : s.analysis.findings) { // the trace shows none of it
        f.time_estimated = true;
        for (Instance& i : f.instances) i.forward_ns = 120'000;
    }
    const std::vector<FusedGroup> groups = fusedGroups(s.analysis, s.visible, measured(s, Pattern::SwiGlu, 66'000, -1));
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_EQ(fusedText(s.analysis, groups[0]), "SwiGLU fused 66.0 µs ×4");
}

TEST(GraphFused, ARegionOfTheUsersOwnStandsBesideFindings) {
    Scene s = scene();
    const auto work = std::make_shared<Finding>();
    for (const Finding& f : s.analysis.findings)
        if (f.pattern == Pattern::SwiGlu) work->instances = {f.instances[0]};
    const auto region = std::make_shared<DrawnRegion>(DrawnRegion{"silu, mul of mlp", "silu, mul", 77, work});
    const std::vector<TimelineFused> fused = {{{0, 0, region}, 66'000, -1}, {{0, 9, region}, 66'000, -1}};
    const std::vector<FusedGroup> groups = fusedGroups(s.analysis, s.visible, fused);
    ASSERT_EQ(groups.size(), 1u); // there is no instance 9
    EXPECT_EQ(groups[0].boxes.size(), 1u);
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    const std::string now = formatDuration(work->instances[0].forward_ns);
    EXPECT_TRUE(says(list, "silu, mul " + now + " → 66.0 µs"));
    EXPECT_TRUE(std::any_of(list.rects.begin(), list.rects.end(), [](const DrawRect& r) {
        return r.pick == Pick{PickKind::Region, 77};
    }));
    EXPECT_EQ(boxOf(list, s, "mlp")->stroke, ColourRole::Flagged); // the finding there is still to be fused
}

TEST(GraphFused, OnlyMeasuredDirectionsCount) {
    Scene s = scene();
    const std::vector<TimelineFused> fused = measured(s, Pattern::SwiGlu, 66'000, -1);
    const std::vector<FusedGroup> groups = fusedGroups(s.analysis, s.visible, fused);
    ASSERT_EQ(groups.size(), 1u);
    EXPECT_DOUBLE_EQ(groups[0].fused_ns, 66'000);
    for (const Finding& f : s.analysis.findings)
        if (f.pattern == Pattern::SwiGlu) {
            EXPECT_DOUBLE_EQ(groups[0].unfused_ns, f.instances[0].forward_ns);
        }
}

// The finding's card says what its instances take in the step, and take once what they save is off it.
TEST(GraphFused, TimesAreThoseOfTheStep) {
    Scene s = scene();
    for (Finding& f : s.analysis.findings)
        for (Instance& i : f.instances)
            if (f.pattern == Pattern::SwiGlu) {
                i.forward_ns = 120'000;
                i.backward_ns = 200'000;
                i.idle_ns = 10'000;
            }
    std::vector<TimelineFused> fused = measured(s, Pattern::SwiGlu, 66'000, 84'000);
    for (TimelineFused& one : fused) one.in_step_ns = 140'000; // it saves 190 of 330 µs there
    EXPECT_EQ(fusedText(s.analysis, fusedGroups(s.analysis, s.visible, fused)[0]), "SwiGLU 330 µs → 140 µs ×4");
}

TEST(GraphFused, OfSeveralThatShareABoxTheSelectedOneIsNamed) {
    Scene s = scene();
    const auto work = std::make_shared<Finding>();
    std::uint32_t swiglu = 0;
    for (std::uint32_t f = 0; f < s.analysis.findings.size(); ++f)
        if (s.analysis.findings[f].pattern == Pattern::SwiGlu) swiglu = f;
    for (Instance& i : s.analysis.findings[swiglu].instances) i.forward_ns = 100'000;
    work->instances = {s.analysis.findings[swiglu].instances[0]};
    const auto region = std::make_shared<DrawnRegion>(DrawnRegion{"silu, mul of mlp", "silu, mul", 77, work});
    const std::vector<TimelineFused> fused = {{{swiglu, 0, nullptr}, 10'000, -1}, {{0, 0, region}, 90'000, -1}};
    ASSERT_EQ(fusedGroups(s.analysis, s.visible, fused).size(), 2u);
    EXPECT_TRUE(says(drawGraph(s.analysis, s.visible, s.layout, {}, fused), "SwiGLU 100 µs → 10.0 µs +1"));
    SelectionSets selection;
    selection.pick = {PickKind::Region, 77};
    EXPECT_TRUE(says(drawGraph(s.analysis, s.visible, s.layout, selection, fused), "silu, mul 100 µs → 90.0 µs +1"));
}

TEST(GraphFused, ALongLabelStaysWithinItsFrame) {
    Scene s = scene();
    std::vector<TimelineFused> fused = measured(s, Pattern::SwiGlu, 66'000, 84'000);
    for (TimelineFused& one : fused) one.speed = FusedSpeed::Slower; // more words
    for (Finding& f : s.analysis.findings)
        for (Instance& i : f.instances)
            if (f.pattern == Pattern::SwiGlu) i.forward_ns = i.backward_ns = 60'000;
    const std::string words = fusedText(s.analysis, fusedGroups(s.analysis, s.visible, fused)[0]);
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    const DrawRect* label = pillUnder(list, words);
    const DrawRect* box = boxOf(list, s, "mlp");
    ASSERT_NE(label, nullptr);
    ASSERT_NE(box, nullptr);
    ASSERT_GT(label->width, box->width); // else it would be no long one
    std::size_t around = 0;
    for (const LayoutRect& c : s.layout.clusters) {
        if (!(c.x <= box->x && box->x + box->width <= c.x + c.width && c.y <= box->y && box->y <= c.y + c.height))
            continue;
        ++around;
        EXPECT_GE(label->x, c.x);
        EXPECT_LE(label->x + label->width, c.x + c.width);
    }
    EXPECT_GT(around, 0u);
}

TEST(GraphFused, AMeasuredGroupOfBoxesHasOneOutline) {
    const Scene s = scene();
    const std::vector<TimelineFused> fused = measured(s, Pattern::AddRmsNorm, 30'000, 60'000);
    const std::vector<FusedGroup> groups = fusedGroups(s.analysis, s.visible, fused);
    ASSERT_EQ(groups.size(), 1u);
    ASSERT_EQ(groups[0].boxes.size(), 2u); // the addition and the norm behind it
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    std::size_t outlines = 0;
    for (const DrawRect& r : list.rects) {
        if (r.filled || r.stroke != ColourRole::Good) continue;
        ++outlines;
        for (std::size_t i = 0; i < s.layout.boxes.size(); ++i) {
            const LayoutRect& box = s.layout.boxes[i];
            const bool own =
                std::binary_search(groups[0].boxes.begin(), groups[0].boxes.end(), static_cast<std::int32_t>(i));
            EXPECT_EQ(overlap({r.x, r.y, r.width, r.height}, box), own) << s.visible.nodes[i].title;
        }
    }
    EXPECT_EQ(outlines, 1u);
}

// In colour and in words, for readers who see no colours.
TEST(GraphFused, WhatIsNotFasterIsNotGreen) {
    const Scene s = scene();
    std::vector<TimelineFused> fused = measured(s, Pattern::SwiGlu, 660'000, 840'000);
    const auto drawn = [&](FusedSpeed speed) {
        fused.back().speed = speed; // the four layers share a label: the slowest tells
        return drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    };
    const std::pair<FusedSpeed, ColourRole> wanted[] = {{FusedSpeed::Faster, ColourRole::Good},
                                                        {FusedSpeed::NoGain, ColourRole::TextMuted},
                                                        {FusedSpeed::Slower, ColourRole::Danger}};
    for (const auto& [speed, role] : wanted) {
        const DrawList list = drawn(speed);
        const std::string words = fusedText(s.analysis, fusedGroups(s.analysis, s.visible, fused)[0]);
        EXPECT_EQ(words.find(", slower") != std::string::npos, speed == FusedSpeed::Slower) << words;
        EXPECT_EQ(words.find(", no gain") != std::string::npos, speed == FusedSpeed::NoGain) << words;
        const DrawRect* pill = pillUnder(list, words);
        ASSERT_NE(pill, nullptr) << words;
        EXPECT_EQ(pill->fill, role) << words;
        EXPECT_EQ(boxOf(list, s, "mlp")->stroke, role) << words;
    }
}

TEST(GraphFused, MeasuredOfNothingIsSurvived) {
    Scene s = scene();
    const std::vector<TimelineFused> wrong = {
        {{999, 0, nullptr}, 1, 1}, {{0, 999, nullptr}, 1, 1}, {{0, 0, nullptr}, -1, -1}};
    EXPECT_EQ(testing::xmlProblem(svgText(drawGraph(s.analysis, s.visible, s.layout, {}, wrong), Theme::Dark)), "");
    s.layout.boxes.resize(1);
    EXPECT_EQ(
        testing::xmlProblem(svgText(
            drawGraph(s.analysis, s.visible, s.layout, {}, measured(s, Pattern::AddRmsNorm, 1000, 1000)), Theme::Dark)),
        "");
    EXPECT_TRUE(fusedGroups({}, s.visible, wrong).empty());
}

} // namespace
} // namespace fusescope
