// SPDX-License-Identifier: Apache-2.0
#include "core/draw/roofline_draw.h"
#include "core/draw/svg.h"
#include "core/draw/text_fit.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

namespace fusescope {
namespace {

bool says(const DrawList& list, std::string_view text) {
    return std::any_of(list.texts.begin(), list.texts.end(),
                       [&](const DrawText& t) { return t.text.find(text) != std::string::npos; });
}

TEST(Roofline, AxesArePowersOfTenAroundEverything) {
    const AnalysisPtr a = testing::syntheticAnalysis();
    const RooflineAxes axes = rooflineAxes(*a);
    for (const double v : {axes.min_ai, axes.max_ai, axes.min_flops, axes.max_flops})
        EXPECT_NEAR(std::log10(v), std::round(std::log10(v)), 1e-9);
    const std::vector<std::uint32_t> below = opsBelowAxes(*a);
    for (const std::uint32_t row : plottableOps(*a)) {
        if (std::binary_search(below.begin(), below.end(), row)) continue;
        EXPECT_GE(a->ops[row].intensity(), axes.min_ai);
        EXPECT_LE(a->ops[row].intensity(), axes.max_ai);
        EXPECT_GE(a->ops[row].achievedFlops(), axes.min_flops);
        EXPECT_LE(a->ops[row].achievedFlops(), axes.max_flops);
    }
    EXPECT_LT(axes.min_ai, a->device.ridge());
    EXPECT_GT(axes.max_ai, a->device.ridge());
    EXPECT_GE(axes.max_flops, a->device.bf16_tensor);
}

// A launch of a few numbers must not stretch the axis by decades; what takes time never lies below it.
TEST(Roofline, OnlyShortOperatorsLieBelowTheAxes) {
    Analysis a;
    const std::array<std::pair<double, double>, 4> ops = {{{1e6, 1e12}, {2e6, 3e9}, {900, 2e7}, {5e3, 2e7}}};
    for (const auto& [time_ns, rate] : ops) {
        OpSummary op;
        op.time_ns = time_ns;
        op.cost.flops = rate * time_ns / 1e9;
        op.cost.bytes_read = op.cost.flops * 4;
        a.ops.push_back(op);
    }
    // All time is 3.0059 ms: 0.9 µs are 0.03% of it, 5 µs are 0.17%.
    EXPECT_TRUE(opsBelowAxes(a).empty()); // the fourth takes more than 0.1% and is as slow
    a.ops.pop_back();
    EXPECT_EQ(opsBelowAxes(a), std::vector<std::uint32_t>{2});
    EXPECT_DOUBLE_EQ(rooflineAxes(a).min_flops, 1e9); // a decade that holds 3e9 off its border
}

TEST(Roofline, OneMarkARowThatCanStand) {
    const AnalysisPtr a = testing::syntheticAnalysis();
    const DrawList list = drawRoofline(*a, 800, 520, {});
    const auto marks = std::count_if(list.markers.begin(), list.markers.end(),
                                     [](const DrawMarker& m) { return m.pick.kind == PickKind::Op; });
    EXPECT_EQ(static_cast<std::size_t>(marks), plottableOps(*a).size());
    EXPECT_LT(plottableOps(*a).size(), a->ops.size()); // a copy has no FLOPs
    EXPECT_TRUE(says(list, "not shown: "));
}

TEST(Roofline, AreaIsTime) {
    Analysis a;
    for (const double time : {400.0, 100.0, 0.01}) {
        OpSummary op;
        op.time_ns = time;
        a.ops.push_back(op);
    }
    EXPECT_DOUBLE_EQ(markRadius(a, 0), 18);
    EXPECT_DOUBLE_EQ(markRadius(a, 1), 9);
    EXPECT_DOUBLE_EQ(markRadius(a, 2), 3);
    EXPECT_DOUBLE_EQ(markRadius(a, 99), 3);
}

TEST(Roofline, SaysRidgeRoofsAndSource) {
    const DrawList list = drawRoofline(*testing::syntheticAnalysis(), 800, 520, {});
    for (const char* text : {"ridge 206 FLOP/byte", "HBM 4.80 TB/s", "989 TFLOP/s", "NVIDIA H200", "preset",
                             "4.20 TB/s", "arithmetic intensity"})
        EXPECT_TRUE(says(list, text)) << text;
}

TEST(Roofline, LabelsDoNotOverlap) {
    const DrawList list = drawRoofline(*testing::syntheticAnalysis(), 800, 520, {});
    std::vector<const DrawText*> labels;
    for (const DrawText& t : list.texts)
        if (t.pick.kind == PickKind::Op) labels.push_back(&t);
    EXPECT_GE(labels.size(), 3U);
    for (std::size_t i = 0; i < labels.size(); ++i)
        for (std::size_t j = i + 1; j < labels.size(); ++j) {
            const bool apart_y = std::fabs(labels[i]->y - labels[j]->y) >= 11;
            const DrawText *left = labels[i]->x < labels[j]->x ? labels[i] : labels[j],
                           *right = left == labels[i] ? labels[j] : labels[i];
            EXPECT_TRUE(apart_y || left->x + textWidth(left->text, {11}) <= right->x + 1)
                << left->text << " / " << right->text;
        }
}

TEST(Roofline, SelectionStandsOut) {
    SelectionSets selection;
    selection.pick = {PickKind::Op, 1};
    selection.ops = {1};
    const DrawList list = drawRoofline(*testing::syntheticAnalysis(), 800, 520, selection);
    for (const DrawMarker& m : list.markers) {
        if (m.pick.kind != PickKind::Op) continue; // the ridge
        EXPECT_EQ(m.emphasis, m.pick.id == 1 ? Emphasis::Selected : Emphasis::Dimmed);
    }
}

TEST(Roofline, WellFormedWhateverTheNumbers) {
    Analysis a = testing::syntheticAnalysisValue();
    a.ops[0].time_ns = 1e-300;
    a.ops[1].cost.flops = std::numeric_limits<double>::infinity();
    a.ops[2].cost.bytes_read = std::numeric_limits<double>::quiet_NaN();
    a.ops[3].cost.flops = 1e300;
    EXPECT_EQ(testing::xmlProblem(svgText(drawRoofline(a, 800, 520, {}), Theme::Light)), "");
    EXPECT_EQ(testing::xmlProblem(svgText(drawRoofline(a, 10, 10, {}), Theme::Light)), "");
    EXPECT_EQ(testing::xmlProblem(svgText(drawRoofline({}, 800, 520, {}), Theme::Dark)), "");
}

TEST(Roofline, AnEmptyChartSaysWhy) {
    Analysis a = testing::syntheticAnalysisValue();
    EXPECT_EQ(rooflineEmptyText(a), "");
    for (OpSummary& op : a.ops) op.cost = {};
    EXPECT_NE(rooflineEmptyText(a).find("record_shapes"), std::string::npos);
    TraceStore kernels_alone; // ProfilerActivity.CUDA only
    a.trace = std::make_shared<const TraceStore>(std::move(kernels_alone));
    EXPECT_NE(rooflineEmptyText(a).find("has no operators"), std::string::npos);
    EXPECT_EQ(rooflineEmptyText(Analysis{}), "Open a trace to see its operators under the roof");
}

TEST(Roofline, AMeasuredFindingMovesByAnArrow) {
    const AnalysisPtr a = testing::syntheticAnalysis();
    const RooflineMove move{{1, 0, nullptr}, 0.5, 1e12, 2, 6e12, 100, 25, "fused"};
    const DrawList before = drawRoofline(*a, 800, 520, {}), list = drawRoofline(*a, 800, 520, {}, {&move, 1});
    ASSERT_EQ(list.lines.size(), before.lines.size() + 1);
    ASSERT_EQ(list.markers.size(), before.markers.size() + 1);
    const DrawLine& line = list.lines.back();
    EXPECT_TRUE(line.arrow);
    EXPECT_EQ(line.pick, (Pick{PickKind::Finding, 1}));
    ASSERT_EQ(line.points.size(), 2u);
    EXPECT_LT(line.points[0].first, line.points[1].first);   // more FLOPs a byte: to the right
    EXPECT_GT(line.points[0].second, line.points[1].second); // faster: up
    EXPECT_DOUBLE_EQ(list.markers.back().x, line.points[1].first);
    const SelectionSets chosen = select(*a, {PickKind::Finding, 1});
    EXPECT_EQ(drawRoofline(*a, 800, 520, chosen, {&move, 1}).lines.back().emphasis, Emphasis::Selected);
}

} // namespace
} // namespace fusescope
