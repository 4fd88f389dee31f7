// SPDX-License-Identifier: Apache-2.0
#include "core/graph/visible_graph.h"

#include "core/graph/layout.h"
#include "layout_checks.h"
#include "toy_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fusescope {
namespace {

using test::Toy;
using test::toyModel;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<std::string> titles(const VisibleGraph& visible) {
    std::vector<std::string> all;
    for (const VisibleNode& node : visible.nodes) all.push_back(node.title);
    return all;
}

std::vector<std::string> edges(const VisibleGraph& visible) {
    std::vector<std::string> all;
    for (const VisibleEdge& edge : visible.edges)
        all.push_back(visible.nodes[edge.from].title + " -> " + visible.nodes[edge.to].title + " " + edge.label);
    return all;
}

// What holds in every view.
void check(const ModelGraph& graph, const VisibleGraph& visible) {
    EXPECT_EQ(visible.node_of.size(), graph.ops.nodes.size());
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) {
        const std::int32_t box = visibleNodeOf(graph, visible, NodeId(n));
        EXPECT_LT(box, static_cast<std::int32_t>(visible.nodes.size()));
        EXPECT_GE(box, -1);
    }
    for (const VisibleNode& node : visible.nodes)
        EXPECT_LT(node.cluster, static_cast<std::int32_t>(visible.clusters.size()));
    for (std::size_t c = 0; c < visible.clusters.size(); ++c)
        EXPECT_LT(visible.clusters[c].parent, static_cast<std::int32_t>(c));
    for (const VisibleEdge& edge : visible.edges) {
        ASSERT_LT(edge.from, visible.nodes.size());
        ASSERT_LT(edge.to, visible.nodes.size());
        EXPECT_NE(edge.from, edge.to);
    }
    const LayoutRequest request = layoutRequest(visible);
    test::checkLayout(request, layeredLayout(request));
}

TEST(VisibleGraph, DefaultViewOpensOneLayer) {
    const ModelGraph graph = toyModel();
    const VisibleGraph visible = visibleGraph(graph, defaultView(graph));
    check(graph, visible);
    EXPECT_THAT(titles(visible),
                ElementsAre("ids", "embed", "mask and positions", "norm", "proj", "where", "add", "head", "output"));
    EXPECT_THAT(edges(visible), UnorderedElementsAre(
                                    "ids -> embed 1x4 i64", "embed -> norm 1x4x8", "norm -> proj 1x4x8",
                                    "proj -> where 1x4x8", "mask and positions -> where 4x4 bool", "where -> add 1x4x8",
                                    "embed -> add 1x4x8", "add -> head 1x4x8", "head -> output 1x4x100"));
    ASSERT_EQ(visible.clusters.size(), 2u);
    EXPECT_EQ(visible.clusters[0].title, "model  Backbone");
    EXPECT_EQ(visible.clusters[1].title, "layers 0–2  Layer");
    EXPECT_EQ(visible.clusters[1].repeat, 3u);
    EXPECT_EQ(visible.clusters[1].parent, 0);
    EXPECT_EQ(visible.nodes[3].cluster, 1);
    EXPECT_EQ(visible.nodes[1].cluster, 0);
    EXPECT_EQ(visible.nodes[7].cluster, -1);
    EXPECT_EQ(visible.nodes[3].subtitle, "RMSNorm  8");
    EXPECT_EQ(visible.nodes[4].subtitle, "Linear  8 → 8");
    EXPECT_TRUE(visible.nodes[3].expandable);
    EXPECT_FALSE(visible.nodes[4].expandable);
    EXPECT_EQ(visible.note, "");
}

TEST(VisibleGraph, CollapsedLayersAreOneBox) {
    const ModelGraph graph = toyModel();
    GraphViewState view = defaultView(graph);
    view.expanded.erase(graph.modules.find("model.layers.0"));
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_THAT(titles(visible), ElementsAre("ids", "embed", "mask and positions", "layers 0–2", "head", "output"));
    EXPECT_EQ(visible.nodes[3].repeat, 3u);
    EXPECT_THAT(edges(visible), UnorderedElementsAre("ids -> embed 1x4 i64", "embed -> layers 0–2 1x4x8",
                                                     "mask and positions -> layers 0–2 4x4 bool",
                                                     "layers 0–2 -> head 1x4x8", "head -> output 1x4x100"));
}

TEST(VisibleGraph, WithoutFoldingLayersFollowEachOther) {
    const ModelGraph graph = toyModel();
    GraphViewState view = defaultView(graph);
    view.fold_identical = false;
    view.expanded.erase(graph.modules.find("model.layers.0"));
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_THAT(titles(visible), ElementsAre("ids", "embed", "mask and positions", "layers 0", "layers 1", "layers 2",
                                             "head", "output"));
    EXPECT_THAT(edges(visible), testing::IsSupersetOf({"layers 0 -> layers 1 1x4x8", "layers 1 -> layers 2 1x4x8"}));
}

TEST(VisibleGraph, NodesOfFoldedLayersAreShownByTheirTwins) {
    const ModelGraph graph = toyModel();
    const VisibleGraph visible = visibleGraph(graph, defaultView(graph));
    std::int32_t twin = -2;
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) {
        const std::string_view name = graph.ops.name(NodeId(n));
        if (name == "where_0") twin = visibleNodeOf(graph, visible, NodeId(n));
        if (name == "where_2") {
            EXPECT_EQ(visibleNodeOf(graph, visible, NodeId(n)), twin);
        }
        if (name == "view_1") {
            EXPECT_EQ(visibleNodeOf(graph, visible, NodeId(n)), -1);
        }
    }
    EXPECT_EQ(visible.nodes[static_cast<std::size_t>(twin)].title, "where");
    EXPECT_EQ(visibleNodeOf(graph, visible, NodeId{}), -1);
}

TEST(VisibleGraph, PlumbingIsShownOnDemand) {
    const ModelGraph graph = toyModel();
    GraphViewState view = defaultView(graph);
    view.hide_plumbing = false;
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_THAT(titles(visible),
                ElementsAre("ids", "embed", "arange", "le", "norm", "proj", "view", "where", "add", "head", "output"));
}

TEST(VisibleGraph, FocusShowsNeighboursAtTheBorder) {
    const ModelGraph graph = toyModel();
    GraphViewState view = defaultView(graph);
    view.focus = graph.modules.find("model.layers.1");
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_THAT(titles(visible),
                ElementsAre("layers 0", "mask and positions", "norm", "proj", "where", "add", "to layers 2"));
    EXPECT_EQ(visible.nodes[0].kind, VisibleKind::Input);
    EXPECT_EQ(visible.nodes.back().kind, VisibleKind::Output);
    EXPECT_TRUE(visible.clusters.empty());
    // The focused layer itself, not its representative.
    EXPECT_EQ(graph.modules.at(visible.nodes[2].module).path, "model.layers.1.norm");
}

TEST(VisibleGraph, FocusOnALeaf) {
    const ModelGraph graph = toyModel();
    GraphViewState view;
    view.focus = graph.modules.find("model.layers.0.norm");
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_THAT(titles(visible), ElementsAre("embed", "pow", "add", "rsqrt", "mul", "to proj"));
    EXPECT_EQ(visible.nodes[1].subtitle, "2");
    EXPECT_EQ(visible.nodes[2].subtitle, "1e-06");
    EXPECT_EQ(visible.nodes[4].subtitle, "weight");
}

TEST(VisibleGraph, NothingExpandedIsStillAPicture) {
    const ModelGraph graph = toyModel();
    const VisibleGraph visible = visibleGraph(graph, {});
    check(graph, visible);
    EXPECT_THAT(titles(visible), ElementsAre("ids", "model", "head", "output"));
}

TEST(VisibleGraph, TooManyBoxesCollapseTheDeepest) {
    Toy toy;
    toy.layers = 120;
    const ModelGraph graph = toyModel(toy);
    GraphViewState view;
    view.fold_identical = false;
    for (std::size_t m = 0; m < graph.modules.modules.size(); ++m) view.expanded.insert(ModuleId(m));
    const VisibleGraph visible = visibleGraph(graph, view);
    check(graph, visible);
    EXPECT_LE(visible.nodes.size(), kMaxVisibleNodes);
    EXPECT_NE(visible.note.find("too many"), std::string::npos);
    EXPECT_EQ(std::count_if(visible.nodes.begin(), visible.nodes.end(),
                            [](const VisibleNode& n) { return n.title.find("layers ") == 0; }),
              120);
}

TEST(VisibleGraph, AFlatGraphIsShownInGroups) {
    GraphBuilder b;
    ValueId x = b.input(ValueKind::Input, "x", test::tensor({4}));
    for (int i = 0; i < 3000; ++i) {
        b.node("relu_" + std::to_string(i), "torch.ops.aten.relu.default", {}, "");
        b.argTensor("self", false, x);
        x = b.output("relu_" + std::to_string(i), test::tensor({4}));
    }
    b.graphOutput(x);
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    const VisibleGraph visible = visibleGraph(*graph, defaultView(*graph));
    check(*graph, visible);
    EXPECT_LE(visible.nodes.size(), kMaxVisibleNodes);
    EXPECT_GT(visible.nodes.size(), 50u);
    EXPECT_NE(visible.note.find("groups"), std::string::npos);
    EXPECT_EQ(visible.edges.size(), visible.nodes.size() - 1); // a chain
}

// A list of 100,000 different modules: each picture once held them all, and took seconds, seventeen times.
TEST(VisibleGraph, AFlatListOfModulesIsShownInGroups) {
    constexpr int kModules = 20'000;
    GraphBuilder b;
    TensorMeta meta;
    meta.dtype = DType::Float32;
    ValueId x = b.input(ValueKind::Input, "x", meta);
    for (int i = 0; i < kModules; ++i) {
        const std::string name = "m" + std::to_string(i), type = "t.T" + std::to_string(i);
        b.node(name, "torch.ops.aten.relu.default", {{"", "t.Model"}, {name, type}}, "");
        b.argTensor("self", false, x);
        meta.sizes = {i + 1};
        x = b.output(name, meta);
    }
    b.graphOutput(x);
    auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    const VisibleGraph visible = visibleGraph(*graph, defaultView(*graph));
    EXPECT_LE(visible.nodes.size(), kMaxVisibleNodes);
    EXPECT_GT(visible.nodes.size(), 50U);
    check(*graph, visible);
    EXPECT_EQ(visible.nodes[1].title, "m0 ...");
    EXPECT_EQ(visible.nodes[1].subtitle, "128 modules") << "the least power of two that makes it a picture";
    EXPECT_FALSE(visible.note.empty());
}

TEST(VisibleGraph, HandMadeGraphsAnswerToo) {
    const ModelGraph graph = toyModel();
    VisibleGraph visible;
    VisibleNode box;
    box.kind = VisibleKind::Module;
    box.module = graph.modules.find("model");
    visible.nodes = {box};
    EXPECT_EQ(visibleNodeOf(graph, visible, NodeId(std::size_t{0})), 0);
    EXPECT_EQ(visibleNodeOf(graph, visible, NodeId(graph.ops.nodes.size() - 1)), -1); // the head
}

TEST(Plumbing, ByName) {
    for (const char* op :
         {"aten::view", "aten::transpose", "aten::_assert_tensor_metadata", "aten::sym_size", "operator::mul"})
        EXPECT_TRUE(isPlumbing(op)) << op;
    for (const char* op : {"aten::mul", "aten::contiguous", "aten::clone", "aten::to", "aten::cat", "aten::linear", ""})
        EXPECT_FALSE(isPlumbing(op)) << op;
}

TEST(Plumbing, DropoutInEvaluationAndCastsToTheSameTypeAreDrawnThrough) {
    GraphBuilder b;
    const ValueId w = b.parameter(false, "w", "w", test::tensor({4}));
    b.node("relu", "torch.ops.aten.relu.default", {}, "");
    b.argTensor("self", false, w);
    const ValueId x = b.output("relu", test::tensor({4}));
    b.node("dropout", "torch.ops.aten.dropout.default", {}, "");
    b.argTensor("input", false, x);
    b.argText("p", false, ArgKind::Scalar, "0.1");
    b.argText("train", false, ArgKind::Scalar, "False");
    const ValueId y = b.output("dropout", test::tensor({4}));
    b.node("to", "torch.ops.aten.to.dtype", {}, "");
    b.argTensor("self", false, y);
    const ValueId same = b.output("to", test::tensor({4}));
    b.node("to_1", "torch.ops.aten.to.dtype", {}, "");
    b.argTensor("self", false, same);
    b.graphOutput(b.output("to_1", test::tensor({4}, DType::Float32)));
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    const VisibleGraph visible = visibleGraph(*graph, defaultView(*graph));
    EXPECT_THAT(titles(visible), ElementsAre("relu", "to f32", "output"));
    EXPECT_THAT(edges(visible), ElementsAre("relu -> to f32 4", "to f32 -> output 4 f32"));
}

} // namespace
} // namespace fusescope
