// SPDX-License-Identifier: Apache-2.0
#include "core/draw/graph_draw.h"
#include "core/draw/svg.h"
#include "tests/support/synthetic_analysis.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace fusescope {
namespace {

struct Scene {
    Analysis analysis;
    VisibleGraph visible;
    LayoutResult layout;
};

Scene scene(const testing::SyntheticOptions& options = {}) {
    Scene s;
    s.analysis = testing::syntheticAnalysisValue(options);
    s.visible = visibleGraph(*s.analysis.graph, defaultView(*s.analysis.graph));
    s.layout = layeredLayout(layoutRequest(s.visible));
    return s;
}

const DrawRect* boxOf(const DrawList& list, const Scene& s, std::string_view title) {
    for (std::size_t i = 0; i < s.visible.nodes.size(); ++i) {
        if (s.visible.nodes[i].title != title) continue;
        for (const DrawRect& r : list.rects)
            if (r.layer == 1 && r.x == s.layout.boxes[i].x && r.y == s.layout.boxes[i].y &&
                r.width == s.layout.boxes[i].width)
                return &r;
    }
    return nullptr;
}

bool says(const DrawList& list, std::string_view text) {
    return std::any_of(list.texts.begin(), list.texts.end(),
                       [&](const DrawText& t) { return t.text.find(text) != std::string::npos; });
}

TEST(GraphDraw, BlocksTakeTheArticlesColours) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    const std::pair<const char*, ColourRole> wanted[] = {
        {"embed_tokens", ColourRole::BlockEmbedding}, {"lm_head", ColourRole::BlockEmbedding},
        {"norm", ColourRole::BlockEmbedding},         {"self_attn", ColourRole::BlockAttentionMlp},
        {"mlp", ColourRole::BlockAttentionMlp},       {"input_layernorm", ColourRole::BlockNorm}};
    for (const auto& [title, role] : wanted) {
        const DrawRect* box = boxOf(list, s, title);
        ASSERT_NE(box, nullptr) << title;
        EXPECT_EQ(box->fill, role) << title;
        EXPECT_EQ(box->pick.kind, PickKind::Module);
    }
}

TEST(GraphDraw, FlaggedBoxesHaveAnAmberOutlineAndABadge) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    const DrawRect *norm = boxOf(list, s, "input_layernorm"), *head = boxOf(list, s, "lm_head");
    ASSERT_NE(norm, nullptr);
    ASSERT_NE(head, nullptr);
    EXPECT_EQ(norm->stroke, ColourRole::Flagged);
    EXPECT_GE(norm->stroke_width, 2);
    EXPECT_NE(head->stroke, ColourRole::Flagged);
    EXPECT_TRUE(says(list, catalogEntry(Pattern::RmsNorm).title));
    EXPECT_TRUE(std::any_of(list.rects.begin(), list.rects.end(), [](const DrawRect& r) {
        return r.fill == ColourRole::Flagged && r.pick.kind == PickKind::Instance;
    }));
}

TEST(GraphDraw, MeasuredTimeAndShareAreShown) {
    const Scene s = scene();
    EXPECT_TRUE(says(drawGraph(s.analysis, s.visible, s.layout, {}), " ms · "));
    testing::SyntheticOptions alone;
    alone.trace = false;
    const Scene g = scene(alone);
    const DrawList list = drawGraph(g.analysis, g.visible, g.layout, {});
    EXPECT_FALSE(says(list, " ms"));
    EXPECT_TRUE(says(list, "FLOP"));
}

TEST(GraphDraw, FoldsAreStacked) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    EXPECT_TRUE(says(list, "×4"));
    for (std::size_t i = 0; i < s.visible.clusters.size(); ++i) {
        if (s.visible.clusters[i].repeat < 2) continue;
        const auto cards = std::count_if(list.rects.begin(), list.rects.end(), [&](const DrawRect& r) {
            return r.layer == -2 && r.width == s.layout.clusters[i].width && r.height == s.layout.clusters[i].height;
        });
        EXPECT_EQ(cards, 3); // itself and two below
    }
}

TEST(GraphDraw, EdgesHaveArrowsAndLabelsNeverCoverBoxes) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    EXPECT_EQ(list.lines.size(), s.visible.edges.size());
    for (const DrawLine& line : list.lines) EXPECT_TRUE(line.arrow);
    EXPECT_TRUE(says(list, "4096"));
}

TEST(GraphDraw, SelectionDimsTheRest) {
    const Scene s = scene();
    SelectionSets selection;
    selection.pick = {PickKind::Finding, 0};
    selection.findings = {0};
    for (const Instance& i : s.analysis.findings[0].instances)
        selection.nodes.insert(selection.nodes.end(), i.nodes.begin(), i.nodes.end());
    std::sort(selection.nodes.begin(), selection.nodes.end());
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, selection);
    const DrawRect *attention = boxOf(list, s, "self_attn"), *mlp = boxOf(list, s, "mlp");
    ASSERT_NE(attention, nullptr);
    ASSERT_NE(mlp, nullptr);
    EXPECT_EQ(attention->emphasis, Emphasis::Selected);
    EXPECT_EQ(mlp->emphasis, Emphasis::Dimmed);
}

TEST(GraphDraw, WellFormedAndWithinItsSize) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    EXPECT_EQ(testing::xmlProblem(svgText(list, Theme::Dark)), "");
    for (const DrawRect& r : list.rects) {
        EXPECT_LE(r.x + r.width, list.width);
        EXPECT_LE(r.y + r.height, list.height);
    }
}

TEST(GraphDraw, MismatchedLayoutIsSurvived) {
    Scene s = scene();
    s.layout.boxes.resize(1);
    s.layout.edges.clear();
    s.layout.clusters.clear();
    EXPECT_EQ(testing::xmlProblem(svgText(drawGraph(s.analysis, s.visible, s.layout, {}), Theme::Light)), "");
    EXPECT_TRUE(drawGraph({}, s.visible, s.layout, {}).rects.empty());
}

TEST(GraphDraw, BlockRoleByClass) {
    const Scene s = scene();
    EXPECT_EQ(blockRole(s.analysis.graph->modules, s.analysis.graph->modules.find("model.layers.0")),
              ColourRole::BlockLayer);
    EXPECT_EQ(blockRole(s.analysis.graph->modules, s.analysis.graph->modules.find("model.layers.0.self_attn.q_proj")),
              ColourRole::BlockPlain);
    EXPECT_EQ(blockRole({}, ModuleId()), ColourRole::BlockPlain);
}

} // namespace
} // namespace fusescope
