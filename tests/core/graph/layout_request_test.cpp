// SPDX-License-Identifier: Apache-2.0
#include "core/graph/layout.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

VisibleGraph twoBoxes() {
    VisibleGraph graph;
    VisibleNode a, b;
    a.kind = VisibleKind::Op;
    a.title = "add";
    b.kind = VisibleKind::Module;
    b.title = "post_attention_layernorm";
    b.subtitle = "Qwen3RMSNorm  4096";
    b.cluster = 0;
    graph.nodes = {a, b};
    VisibleCluster cluster;
    cluster.title = "layers 0–35  Qwen3DecoderLayer";
    cluster.repeat = 36;
    graph.clusters = {cluster};
    graph.edges = {{0, 1, {}, "1x4096x4096"}, {1, 0, {}, ""}};
    return graph;
}

TEST(LayoutRequest, SizesFollowTheText) {
    const LayoutRequest request = layoutRequest(twoBoxes());
    ASSERT_EQ(request.boxes.size(), 2u);
    EXPECT_GE(request.boxes[1].width, 24 * 8.0); // 24 characters
    EXPECT_LT(request.boxes[0].width, request.boxes[1].width);
    EXPECT_GT(request.boxes[1].height, request.boxes[0].height);
    EXPECT_EQ(request.boxes[1].cluster, 0);
    ASSERT_EQ(request.cluster_widths.size(), 1u);
    EXPECT_GE(request.cluster_widths[0], 30 * 8.0);
    EXPECT_GT(request.edges[0].label_width, 0);
    EXPECT_EQ(request.edges[1].label_width, 0);
    for (const LayoutBox& box : request.boxes) EXPECT_EQ(box.width, 8 * static_cast<int>(box.width / 8)); // the grid
}

TEST(LayoutRequest, CharactersNotBytes) {
    VisibleGraph graph;
    graph.nodes.resize(2);
    graph.nodes[0].title = "aaaaaaaaaaaaaaaa";
    graph.nodes[1].title = "éééééééééééééééé";
    const LayoutRequest request = layoutRequest(graph);
    EXPECT_EQ(request.boxes[0].width, request.boxes[1].width);
}

TEST(LayoutRequest, VeryLongTitlesDoNotMakeVeryWideBoxes) {
    VisibleGraph graph;
    graph.nodes.resize(1);
    graph.nodes[0].title.assign(10000, 'x');
    EXPECT_LT(layoutRequest(graph).boxes[0].width, 600);
}

TEST(LayoutRequest, HashTellsRequestsApart) {
    const LayoutRequest request = layoutRequest(twoBoxes());
    EXPECT_EQ(hashOf(request), hashOf(layoutRequest(twoBoxes())));
    for (int change = 0; change < 5; ++change) {
        LayoutRequest other = request;
        if (change == 0) other.boxes[0].width += 8;
        if (change == 1) other.boxes[0].cluster = 0;
        if (change == 2) other.edges[0].to = 0;
        if (change == 3) other.cluster_parents.push_back(0);
        if (change == 4) other.rank_gap += 1;
        EXPECT_NE(hashOf(other), hashOf(request)) << change;
    }
}

TEST(DotText, SpeaksDot) {
    const VisibleGraph graph = twoBoxes();
    const std::string bare = dotText(layoutRequest(graph));
    EXPECT_EQ(bare.find("digraph model {"), 0u);
    EXPECT_NE(bare.find("subgraph cluster_0 {"), std::string::npos);
    EXPECT_NE(bare.find("n0 -> n1 [id=0"), std::string::npos);
    EXPECT_NE(bare.find("fixedsize=true"), std::string::npos);
    EXPECT_EQ(bare.find("post_attention"), std::string::npos);
    const std::string named = dotText(layoutRequest(graph), &graph);
    EXPECT_NE(named.find("label=\"post_attention_layernorm\\nQwen3RMSNorm  4096\""), std::string::npos);
    EXPECT_NE(named.find("label=\"1x4096x4096\""), std::string::npos);
}

TEST(DotText, QuotesWhatNeedsIt) {
    VisibleGraph graph;
    graph.nodes.resize(1);
    graph.nodes[0].title = "a\"]; evil [label=\"\\";
    const std::string text = dotText(layoutRequest(graph), &graph);
    EXPECT_NE(text.find("label=\"a\\\"]; evil [label=\\\"\\\\\""), std::string::npos);
}

TEST(DotText, ForgivesBadNumbers) {
    LayoutRequest request;
    request.boxes = {{10, 10, 7}, {10, 10, -3}};
    request.cluster_parents = {5, -1};
    request.edges = {{0, 9, 0, 0}};
    const std::string text = dotText(request);
    EXPECT_NE(text.find("n0 ["), std::string::npos);
    EXPECT_NE(text.find("n1 ["), std::string::npos);
    EXPECT_EQ(text.find("->"), std::string::npos);
}

} // namespace
} // namespace fusescope
