// SPDX-License-Identifier: Apache-2.0
// Operators as no exporter writes them: without operands, without results, without shapes, in any order. Nothing may be
// found in them, and looking must not go wrong.
#include "tests/core/fusion/toy_graph.h"

namespace fusescope::test {
namespace {

constexpr const char* kOps[] = {"softmax.int",
                                "_softmax.default",
                                "mul.Tensor",
                                "add.Tensor",
                                "matmul.default",
                                "linear.default",
                                "mm.default",
                                "bmm.default",
                                "addmm.default",
                                "rsqrt.default",
                                "mean.dim",
                                "pow.Tensor_Scalar",
                                "to.dtype",
                                "silu.default",
                                "neg.default",
                                "cat.default",
                                "slice.Tensor",
                                "view.default",
                                "transpose.int",
                                "embedding.default",
                                "dropout.default",
                                "log_softmax.int",
                                "cross_entropy_loss.default",
                                "nll_loss_forward.default",
                                "split.Tensor",
                                "chunk.default",
                                "rms_norm.default",
                                "scaled_dot_product_attention.default",
                                "cos.default",
                                "unsqueeze.default",
                                "expand.default",
                                "where.self",
                                "sigmoid.default",
                                "_to_copy.default"};

ModelGraph graphOf(std::size_t operands, bool results, bool shapes) {
    GraphBuilder b;
    const TensorMeta m = shapes ? meta({2, 8, 64}) : TensorMeta{};
    ValueId last = operands > 0 ? b.input(ValueKind::Input, "x", m) : ValueId{};
    for (int round = 0; round < 2; ++round)
        for (const char* op : kOps) {
            b.node(std::string(op) + std::to_string(round), std::string("torch.ops.aten.") + op,
                   {{"", "m.Model"}, {"layer", "m.Layer"}}, "");
            for (std::size_t i = 0; i < operands; ++i) b.argTensor(i == 0 ? "self" : "other", false, last);
            if (results) last = b.output(std::string("v") + op + std::to_string(round), m);
        }
    if (last.valid()) b.graphOutput(last);
    Result<ModelGraph> made = std::move(b).finish();
    EXPECT_TRUE(made.ok());
    return std::move(*made);
}

TEST(MissingOperands, NoMatcherMinds) {
    for (const std::size_t operands : {0U, 1U, 2U})
        for (const bool results : {false, true})
            for (const bool shapes : {false, true}) {
                const ModelGraph graph = graphOf(operands, results, shapes);
                const fusion::GraphFlow flow(graph);
                // One operator that is a fusion by itself is one, whatever it works on; a pattern of several is not.
                for (const fusion::Match& match : fusion::matchGraph(flow).found)
                    EXPECT_TRUE(operands > 0 || match.nodes.size() == 1);
                EXPECT_TRUE(flow.meta(ValueId{}).sizes.empty());
            }
}

TEST(MissingOperands, AnIdThatIsNoneIsAnEmptyRow) {
    const OpGraph ops;
    EXPECT_FALSE(ops.at(ValueId{}).producer.valid());
    EXPECT_FALSE(ops.at(ValueId(std::size_t{3})).producer.valid());
    EXPECT_TRUE(ops.argsOf(NodeId{}).empty());
    EXPECT_FALSE(ops.operand(NodeId{}, 0).valid());
    EXPECT_EQ(ops.op(NodeId{}), "");
    const ModuleTree tree;
    EXPECT_EQ(tree.at(ModuleId{}).path, "");
}

} // namespace
} // namespace fusescope::test
