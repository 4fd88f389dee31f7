// SPDX-License-Identifier: Apache-2.0
#include "core/draw/svg.h"
#include "core/draw/text_fit.h"
#include "tests/core/draw/graph_scene.h"
#include "tests/support/xml_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace fusescope {
namespace {

TEST(GraphDraw, BlocksTakeTheArticlesColours) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    const std::pair<const char*, ColourRole> wanted[] = {{"embed_tokens", ColourRole::BlockEmbedding},
                                                         {"lm_head", ColourRole::BlockEmbedding},
                                                         {"norm", ColourRole::BlockNorm},
                                                         {"self_attn", ColourRole::BlockAttentionMlp},
                                                         {"mlp", ColourRole::BlockAttentionMlp},
                                                         {"input_layernorm", ColourRole::BlockNorm}};
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

// What stands inside a fold is of one of its layers: its header says that its own figure is not.
TEST(GraphDraw, AFoldsFigureSaysThatItIsOfAll) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    EXPECT_TRUE(says(list, " ms in 4"));
    for (const DrawText& t : list.texts)
        if (t.text.find("Qwen3DecoderLayer") != std::string::npos) {
            EXPECT_EQ(t.text.substr(0, t.text.find("  ")), "layers 0–3 ×4"); // before what may be cut
        }
}

TEST(GraphDraw, LabelsCrossNoBorderNoBoxAndNoBadge) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    std::size_t labels = 0;
    for (const DrawText& t : list.texts) {
        const bool of_edge = t.size == 10 && t.layer == 2 && t.align == TextAlign::Centre;
        if (!of_edge) continue;
        ++labels;
        const double width = textWidth(t.text, {10});
        const LayoutRect label{t.x - width / 2, t.y - 8, width, 10};
        for (const LayoutRect& box : s.layout.boxes) EXPECT_FALSE(overlap(label, box)) << t.text;
        for (const DrawRect& r : list.rects)
            EXPECT_FALSE(r.layer == 3 && overlap(label, {r.x, r.y, r.width, r.height})) << t.text;
        for (const LayoutRect& c : s.layout.clusters) {
            const bool within = label.x >= c.x && label.x + label.width <= c.x + c.width && label.y >= c.y &&
                                label.y + label.height <= c.y + c.height;
            EXPECT_TRUE(within || !overlap(label, c)) << t.text;
        }
    }
    EXPECT_GE(labels, 3U);
}

TEST(GraphDraw, BadgesHideNoArrowHead) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    std::size_t badges = 0;
    for (const DrawRect& r : list.rects) {
        if (r.layer != 3 || r.fill != ColourRole::Flagged) continue;
        ++badges;
        for (const LayoutResult::Edge& e : s.layout.edges)
            EXPECT_FALSE(overlap({r.x, r.y, r.width, r.height}, {e.path.back().x - 2, e.path.back().y - 6, 4, 6}));
    }
    EXPECT_GE(badges, 2U);
}

TEST(GraphDraw, EdgesPassBehindTitles) {
    const Scene s = scene();
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {});
    for (const LayoutRect& c : s.layout.clusters) {
        const auto header = std::find_if(list.rects.begin(), list.rects.end(), [&](const DrawRect& r) {
            return r.x == c.x && r.y == c.y && r.width == c.width && r.height == 24;
        });
        ASSERT_NE(header, list.rects.end());
        for (const DrawLine& line : list.lines) EXPECT_LT(line.layer, header->layer);
    }
}

TEST(GraphDraw, BoxesHoldTheirText) {
    const Scene s = scene();
    const LayoutRequest request = drawnLayoutRequest(s.visible);
    for (std::size_t i = 0; i < s.visible.nodes.size(); ++i) {
        const VisibleNode& node = s.visible.nodes[i];
        EXPECT_GE(request.boxes[i].width, textWidth(node.title, {12}) + 8) << node.title;
        EXPECT_GE(request.boxes[i].width, textWidth(node.subtitle, {11}) + 8) << node.subtitle;
    }
    for (std::size_t i = 0; i < s.visible.edges.size(); ++i)
        EXPECT_GE(request.edges[i].label_width, textWidth(s.visible.edges[i].label, {10}));
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
    // An RMSNorm wherever it stands; another norm is coloured like the embedding.
    ModuleTree tree;
    tree.modules.resize(2);
    tree.modules[1].parent = ModuleId(std::size_t{0});
    for (const auto& [type, role] :
         {std::pair("Qwen3RMSNorm", ColourRole::BlockNorm), std::pair("LayerNorm", ColourRole::BlockEmbedding)}) {
        tree.modules[1].type = type;
        EXPECT_EQ(blockRole(tree, ModuleId(std::size_t{1})), role) << type;
    }
}

} // namespace
} // namespace fusescope
