// SPDX-License-Identifier: Apache-2.0
#include "core/graph/graph_builder.h"

#include "toy_model.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

using test::tensor;
using test::toyModel;

ModelGraph finish(GraphBuilder& builder) {
    Result<ModelGraph> graph = std::move(builder).finish();
    EXPECT_TRUE(graph.ok());
    return graph ? std::move(graph).value() : ModelGraph{};
}

TEST(GraphBuilder, EmptyGraphHasARoot) {
    GraphBuilder b;
    const ModelGraph graph = finish(b);
    ASSERT_EQ(graph.modules.modules.size(), 1u);
    EXPECT_EQ(graph.modules.modules[0].path, "");
    EXPECT_FALSE(graph.modules.modules[0].parent.valid());
    EXPECT_TRUE(graph.ops.nodes.empty());
}

TEST(GraphBuilder, ValuesArgumentsAndConsumers) {
    GraphBuilder b;
    const ValueId x = b.input(ValueKind::Input, "x", tensor({2, 3}));
    const NodeId mul = b.node("mul", "torch.ops.aten.mul.Tensor", {}, "");
    b.argTensor("self", false, x);
    b.argTensor("other", false, x);
    const ValueId y = b.output("mul", tensor({2, 3}));
    const NodeId cat = b.node("cat", "torch.ops.aten.cat.default", {}, "");
    b.argTensors("tensors", false, {x, y});
    b.argText("dim", false, ArgKind::Scalar, "-1");
    const ValueId z = b.output("cat", tensor({2, 6}));
    b.graphOutput(z);
    EXPECT_EQ(b.find("cat"), z);
    EXPECT_FALSE(b.find("nobody").valid());
    const ModelGraph graph = finish(b);

    EXPECT_EQ(graph.ops.op(mul), "aten::mul");
    EXPECT_EQ(graph.ops.operand(mul, 0), x);
    EXPECT_EQ(graph.ops.operand(mul, 1), x);
    EXPECT_FALSE(graph.ops.operand(mul, 2).valid());
    EXPECT_EQ(graph.ops.operand(cat, 1), y);
    EXPECT_EQ(graph.ops.argText(cat, "dim"), "-1");
    EXPECT_EQ(graph.ops.argText(cat, "out"), "");
    EXPECT_EQ(graph.ops.output(cat), z);
    EXPECT_FALSE(graph.ops.output(cat, 1).valid());
    EXPECT_TRUE(graph.ops.at(z).is_graph_output);
    EXPECT_EQ(graph.ops.at(z).producer, cat);
    // x: twice by mul, once by cat
    ASSERT_EQ(graph.ops.consumersOf(x).size(), 3u);
    EXPECT_EQ(graph.ops.consumersOf(x)[1], mul);
    EXPECT_EQ(graph.ops.consumersOf(x)[2], cat);
    EXPECT_TRUE(graph.ops.consumersOf(z).empty());
    EXPECT_TRUE(graph.ops.consumersOf(ValueId{}).empty());
}

TEST(GraphBuilder, SymbolsAreNoTensorOperands) {
    GraphBuilder b;
    const ValueId x = b.input(ValueKind::Input, "x", tensor({2, 3}));
    const ValueId s = b.input(ValueKind::Symbol, "s0", {});
    const NodeId view = b.node("view", "torch.ops.aten.view.default", {}, "");
    b.argText("size", false, ArgKind::ScalarList, "[%s0, 4]", {s});
    b.argTensor("self", false, x);
    const ModelGraph graph = finish(b);
    EXPECT_EQ(graph.ops.operand(view, 0), x);
    EXPECT_FALSE(graph.ops.operand(view, 1).valid());
    EXPECT_EQ(graph.ops.consumersOf(s).size(), 1u);
}

TEST(GraphBuilder, SizesThatNoMemoryHoldsAreNotKnown) {
    GraphBuilder b;
    const ValueId huge = b.input(ValueKind::Input, "huge", tensor({INT64_MAX, INT64_MAX, 2}));
    const ValueId large = b.input(ValueKind::Input, "large", tensor({1 << 20, 1 << 20}));
    b.unusedParameter("w", tensor({std::int64_t{1} << 52, 8}));
    const ModelGraph graph = finish(b);
    EXPECT_EQ(graph.ops.at(huge).meta.sizes, std::vector<std::int64_t>(3, kDynamicSize));
    EXPECT_EQ(graph.ops.at(huge).meta.numel(), 0);
    EXPECT_EQ(graph.ops.at(large).meta.numel(), std::int64_t{1} << 40);
    EXPECT_EQ(graph.modules.parameters[0].meta.numel(), 0);
    ASSERT_EQ(graph.problems.size(), 1U);
    EXPECT_EQ(graph.problems[0].kind, "implausible size");
    EXPECT_EQ(graph.problems[0].count, 2U);
}

TEST(GraphBuilder, SourceLineIsTheInnermostFrame) {
    GraphBuilder b;
    const NodeId node = b.node("n", "t", {},
                               "File \"/a/train.py\", line 18, in step\n    loss = model(x)\n"
                               "  File \"/b/site-packages/modeling_qwen3.py\", line 63, in forward\n"
                               "    return self.weight * hidden_states.to(input_dtype)  \n");
    const NodeId none = b.node("m", "t", {}, "");
    const NodeId odd = b.node("o", "t", {}, "File \"unfinished");
    const NodeId bare = b.node("p", "t", {}, "File \"x.py\", line 7");
    const ModelGraph graph = finish(b);
    EXPECT_EQ(graph.ops.sourceLine(node), "modeling_qwen3.py:63");
    EXPECT_EQ(graph.ops.sourceText(node), "return self.weight * hidden_states.to(input_dtype)");
    EXPECT_EQ(graph.ops.sourceLine(none), "");
    EXPECT_EQ(graph.ops.sourceText(none), "");
    EXPECT_EQ(graph.ops.sourceLine(odd), "");
    EXPECT_EQ(graph.ops.sourceLine(bare), "x.py:7");
    EXPECT_EQ(graph.ops.sourceText(bare), "");
}

TEST(GraphBuilder, ModulesComeFromFramesAndParameters) {
    const ModelGraph graph = toyModel();
    const ModuleTree& tree = graph.modules;
    const ModuleId layers = tree.find("model.layers");
    ASSERT_TRUE(layers.valid());
    EXPECT_EQ(tree.at(layers).type, "ModuleList"); // never called: its numbered children tell
    EXPECT_EQ(tree.at(layers).children.size(), 3u);
    const ModuleId norm = tree.find("model.layers.1.norm");
    ASSERT_TRUE(norm.valid());
    EXPECT_EQ(tree.at(norm).type, "RMSNorm");
    EXPECT_EQ(tree.at(norm).type_fqn, "m.RMSNorm");
    EXPECT_EQ(tree.at(norm).name, "norm");
    ASSERT_EQ(tree.at(norm).parameters.size(), 1u);
    EXPECT_EQ(tree.parameters[tree.at(norm).parameters[0]].name, "model.layers.1.norm.weight");
    EXPECT_TRUE(tree.contains(layers, norm));
    EXPECT_TRUE(tree.contains(norm, norm));
    EXPECT_FALSE(tree.contains(norm, layers));
    EXPECT_FALSE(tree.find("model.layers.9").valid());
    for (std::size_t m = 1; m < tree.modules.size(); ++m) EXPECT_LT(tree.modules[m].parent.index(), m);
}

TEST(GraphBuilder, ChildrenStandInOrderOfExecution) {
    GraphBuilder b;
    for (const char* path : {"late", "early", "never"}) b.declareModule(path);
    b.node("a", "t", {{"", "R"}, {"early", "E"}}, "");
    b.node("b", "t", {{"", "R"}, {"late", "L"}}, "");
    const ModelGraph graph = finish(b);
    const std::vector<ModuleId>& children = graph.modules.modules[0].children;
    ASSERT_EQ(children.size(), 3u);
    EXPECT_EQ(graph.modules.at(children[0]).name, "early");
    EXPECT_EQ(graph.modules.at(children[1]).name, "late");
    EXPECT_EQ(graph.modules.at(children[2]).name, "never");
}

TEST(GraphBuilder, SharedStorageCountsOnce) {
    GraphBuilder b;
    b.parameter(false, "p_embed", "embed.weight", tensor({10, 4}), "w0+0");
    b.parameter(false, "p_own", "mlp.weight", tensor({3}), "w1+0");
    b.parameter(true, "b_buffer", "rotary.inv_freq", tensor({64}));
    b.unusedParameter("head.weight", tensor({10, 4}), "w0+0");
    b.unusedParameter("embed.weight", tensor({10, 4}), "w0+0"); // known already
    const ModelGraph graph = finish(b);
    const ModuleTree& tree = graph.modules;
    ASSERT_EQ(tree.parameters.size(), 4u);
    EXPECT_EQ(tree.parameters[3].name, "head.weight");
    EXPECT_EQ(tree.parameters[3].shared_with, 0u);
    EXPECT_EQ(tree.parameterCount(ModuleId(std::size_t{0})), 43);
    EXPECT_EQ(tree.parameterCount(tree.find("head")), 40);
    EXPECT_EQ(tree.parameterCount(tree.find("rotary")), 0);
    EXPECT_EQ(tree.parameterCount(ModuleId{}), 0);
}

TEST(GraphBuilder, OneValueUnderTwoNamesIsTied) {
    GraphBuilder b;
    const ValueId a = b.parameter(false, "p", "embed.weight", tensor({10, 4}));
    const ValueId c = b.parameter(false, "p", "head.weight", tensor({10, 4}));
    EXPECT_EQ(a, c);
    const ModelGraph graph = finish(b);
    EXPECT_EQ(graph.modules.parameters[1].shared_with, 0u);
    EXPECT_EQ(graph.modules.parameterCount(ModuleId(std::size_t{0})), 40);
}

TEST(GraphBuilder, InputBetweenOutputsIsAnError) {
    GraphBuilder b;
    b.node("split", "t", {}, "");
    (void)b.output("a", {});
    (void)b.input(ValueKind::Input, "x", {});
    (void)b.output("b", {});
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_FALSE(graph.ok());
    EXPECT_NE(graph.error().message().find("split"), std::string::npos);
}

TEST(GraphBuilder, DeepPathsAreCutAndReported) {
    GraphBuilder b;
    std::string path = "m";
    for (int i = 0; i < 500; ++i) path += ".m";
    b.node("n", "t", {{path, "X"}}, "");
    const ModelGraph graph = finish(b);
    EXPECT_LE(graph.modules.modules.size(), 66u);
    ASSERT_EQ(graph.problems.size(), 1u);
    EXPECT_EQ(graph.problems[0].kind, "deep module path");
}

TEST(GraphBuilder, ProblemsOfOneKindAreCounted) {
    GraphBuilder b;
    b.problem("kind", "first");
    b.problem("kind", "second");
    const ModelGraph graph = finish(b);
    ASSERT_EQ(graph.problems.size(), 1u);
    EXPECT_EQ(graph.problems[0].count, 2u);
    EXPECT_EQ(graph.problems[0].message, "first");
}

TEST(GraphBuilder, ArgumentsBeforeAnyNodeAreIgnored) {
    GraphBuilder b;
    b.argText("x", false, ArgKind::Text, "y");
    EXPECT_FALSE(b.output("v", {}).valid());
    EXPECT_TRUE(finish(b).ops.args.empty());
}

} // namespace
} // namespace fusescope
