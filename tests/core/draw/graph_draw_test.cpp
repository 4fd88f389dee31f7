// SPDX-License-Identifier: Apache-2.0
#include "core/draw/graph_draw.h"
#include "core/draw/svg.h"
#include "core/draw/text_fit.h"
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
    s.layout = layeredLayout(drawnLayoutRequest(s.visible));
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

bool overlap(const LayoutRect& a, const LayoutRect& b) {
    return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
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

// Every instance of a finding as measured: forward and backward.
std::vector<TimelineFused> measured(const Scene& s, Pattern pattern, double forward_ns, double backward_ns) {
    std::vector<TimelineFused> out;
    for (std::uint32_t f = 0; f < s.analysis.findings.size(); ++f)
        for (std::uint32_t i = 0; i < s.analysis.findings[f].instances.size(); ++i)
            if (s.analysis.findings[f].pattern == pattern) out.push_back({{f, i, nullptr}, forward_ns, backward_ns});
    return out;
}

TEST(GraphDraw, MeasuredInstancesOfAFoldShareOneLabel) {
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
    EXPECT_EQ(words, "swiglu fused 150 µs (was 320 µs) ×4");

    const DrawList before = drawGraph(s.analysis, s.visible, s.layout, {});
    const DrawList list = drawGraph(s.analysis, s.visible, s.layout, {}, fused);
    EXPECT_EQ(boxOf(before, s, "mlp")->stroke, ColourRole::Flagged);
    EXPECT_EQ(boxOf(list, s, "mlp")->stroke, ColourRole::Good);
    EXPECT_TRUE(says(list, words));
    EXPECT_FALSE(says(before, " fused "));
    const std::string& title = catalogEntry(Pattern::SwiGlu).title;
    const auto badge = [&](const DrawList& l) {
        return std::any_of(l.texts.begin(), l.texts.end(), [&](const DrawText& t) { return t.text == title; });
    };
    EXPECT_TRUE(badge(before));
    EXPECT_FALSE(badge(list)); // no longer worth fusing
    EXPECT_EQ(testing::xmlProblem(svgText(list, Theme::Dark)), "");
}

TEST(GraphDraw, ARegionOfTheUsersOwnStandsBesideFindings) {
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
    EXPECT_TRUE(says(list, "silu, mul fused 66.0 µs"));
    EXPECT_TRUE(std::any_of(list.rects.begin(), list.rects.end(), [](const DrawRect& r) {
        return r.pick == Pick{PickKind::Region, 77};
    }));
    EXPECT_EQ(boxOf(list, s, "mlp")->stroke, ColourRole::Flagged); // the finding there is still to be fused
}

TEST(GraphDraw, OnlyMeasuredDirectionsCount) {
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

TEST(GraphDraw, AMeasuredGroupOfBoxesHasOneOutline) {
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

TEST(GraphDraw, MeasuredOfNothingIsSurvived) {
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
