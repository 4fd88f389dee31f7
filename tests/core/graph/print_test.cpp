// SPDX-License-Identifier: Apache-2.0
#include "core/graph/print.h"

#include "toy_model.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

TEST(Print, TreeOfAToy) {
    EXPECT_EQ(printTree(test::toyModel()), "Top(\n"
                                           "  (model): Backbone(\n"
                                           "    (embed): Embedding(100, 8)\n"
                                           "    (layers): ModuleList(\n"
                                           "      (0-2): 3 x Layer(\n"
                                           "        (norm): RMSNorm((8,), eps=1e-06, elementwise_affine=True)\n"
                                           "        (proj): Linear(in_features=8, out_features=8, bias=False)\n"
                                           "      )\n"
                                           "    )\n"
                                           "  )\n"
                                           "  (head): Linear(in_features=8, out_features=100, bias=False)\n"
                                           ")");
}

TEST(Print, TreeOfNothing) {
    GraphBuilder b;
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(printTree(*graph), "Module()");
    EXPECT_EQ(printNodes(*graph), "graph():\n    return ()");
}

TEST(Print, BiasAndPaddingAreTold) {
    GraphBuilder b;
    b.parameter(false, "w", "fc.weight", test::tensor({3, 2}));
    b.parameter(false, "c", "fc.bias", test::tensor({3}));
    const ValueId e = b.parameter(false, "e", "emb.weight", test::tensor({9, 2}));
    b.node("linear", "torch.ops.aten.linear.default", {{"", "M"}, {"fc", "torch.nn.Linear"}}, "");
    b.node("embedding", "torch.ops.aten.embedding.default", {{"", "M"}, {"emb", "torch.nn.Embedding"}}, "");
    b.argTensor("weight", false, e);
    b.argText("padding_idx", false, ArgKind::Scalar, "1");
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(printTree(*graph), "M(\n"
                                 "  (fc): Linear(in_features=2, out_features=3, bias=True)\n"
                                 "  (emb): Embedding(9, 2, padding_idx=1)\n"
                                 ")");
}

// As torch.fx prints: https://docs.pytorch.org/docs/stable/fx.html
TEST(Print, NodesAsFx) {
    GraphBuilder b;
    const ValueId x = b.input(ValueKind::Input, "x", test::tensor({2}));
    b.node("split", "torch.ops.aten.split.Tensor", {}, "");
    b.argTensor("self", false, x);
    b.argText("split_size", false, ArgKind::Scalar, "1");
    const ValueId a = b.output("getitem", test::tensor({1}));
    const ValueId c = b.output("getitem_1", test::tensor({1}));
    b.node("add", "_operator.add", {}, "");
    b.argTensor("a", false, a);
    b.argTensor("b", false, a);
    const ValueId sum = b.output("add", test::tensor({1}));
    b.node("cat", "torch.ops.aten.cat.default", {}, "");
    b.argTensors("tensors", false, {sum, c});
    b.argText("dim", true, ArgKind::Scalar, "-1");
    b.graphOutput(b.output("cat", test::tensor({2})));
    const Result<ModelGraph> graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(
        printNodes(*graph),
        "graph():\n"
        "    %x : [num_users=1] = placeholder[target=x]\n"
        "    %split : [num_users=2] = call_function[target=torch.ops.aten.split.Tensor](args = (%x, 1), kwargs = {})\n"
        "    %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%split, 0), kwargs = {})\n"
        "    %getitem_1 : [num_users=1] = call_function[target=operator.getitem](args = (%split, 1), kwargs = {})\n"
        "    %add : [num_users=1] = call_function[target=operator.add](args = (%getitem, %getitem), kwargs = {})\n"
        "    %cat : [num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%add, %getitem_1],), "
        "kwargs = {dim: -1})\n"
        "    return (cat,)");
}

} // namespace
} // namespace fusescope
