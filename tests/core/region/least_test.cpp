// SPDX-License-Identifier: Apache-2.0
// Bytes of a chain's backward, counted by hand from the derivatives.
#include "core/region/chain_text.h"
#include "core/region/least.h"
#include "tests/core/fusion/toy_graph.h"
#include "tests/core/region/sample.h"

namespace fusescope {
namespace {

using namespace test;
using namespace region;

// bf16 values of 4x8, and a row of 8: 64 and 16 bytes.
constexpr double kAll = 64, kRow = 16;

class Chain {
public:
    ValueId trained(const char* name, std::vector<std::int64_t> sizes = {4, 8}) {
        return b.parameter(false, name, name, meta(std::move(sizes)));
    }
    ValueId input(const char* name, DType type = DType::BFloat16) {
        return b.input(ValueKind::Input, name, meta({4, 8}, type));
    }
    ValueId op(const char* name, const char* target, const std::vector<ValueId>& tensors,
               std::vector<std::int64_t> sizes = {4, 8}) {
        b.node(name, std::string("torch.ops.aten.") + target, {}, "");
        for (const ValueId value : tensors) b.argTensor("", false, value);
        return b.output(name, meta(std::move(sizes)));
    }
    OpCost backward() {
        finish();
        const fusion::GraphFlow flow(graph);
        return leastBackwardCost(flow, Fills(flow), part(flow));
    }
    std::string problem() {
        finish();
        const fusion::GraphFlow flow(graph);
        return chainBackwardProblem(flow, Fills(flow), part(flow));
    }
    GraphBuilder b;

private:
    void finish() {
        Result<ModelGraph> made = std::move(b).finish();
        EXPECT_TRUE(made.ok());
        graph = std::move(*made);
    }
    Subgraph part(const fusion::GraphFlow& flow) const {
        std::vector<NodeId> all;
        for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) all.emplace_back(n);
        const Result<Subgraph> made = subgraphOf(flow, all, false);
        EXPECT_TRUE(made.ok());
        return *made;
    }
    ModelGraph graph;
};

TEST(LeastBackward, ThroughASumTheGradientPasses) {
    Chain c;
    (void)c.op("add", "add.Tensor", {c.trained("x"), c.trained("y")});
    EXPECT_EQ(c.backward().bytes(), 0);

    Chain row; // but for what was broadcast: there it is summed up
    (void)row.op("add", "add.Tensor", {row.trained("x"), row.trained("b", {8})});
    const OpCost summed = row.backward();
    EXPECT_EQ(summed.bytes_read, kAll);
    EXPECT_EQ(summed.bytes_written, kRow);

    Chain less; // and for what was taken away: there it changes its sign
    (void)less.op("sub", "sub.Tensor", {less.trained("x"), less.trained("y")});
    const OpCost cost = less.backward();
    EXPECT_EQ(cost.bytes_read, kAll);
    EXPECT_EQ(cost.bytes_written, kAll);
}

TEST(LeastBackward, OnlyGradientsThatSomethingComesOfAreRead) {
    Chain c; // x + y leaves as it is, and so does silu(z)
    (void)c.op("add", "add.Tensor", {c.trained("x"), c.trained("y")});
    (void)c.op("silu", "silu.default", {c.trained("z")});
    const OpCost cost = c.backward();
    EXPECT_EQ(cost.bytes_read, 2 * kAll) << "z and its result's gradient";
    EXPECT_EQ(cost.bytes_written, kAll);
}

TEST(LeastBackward, ATermThatIsUsedTwiceSumsItsGradients) {
    Chain c;
    const ValueId x = c.trained("x");
    (void)c.op("mul", "mul.Tensor", {c.op("add", "add.Tensor", {x, c.trained("y")}), x});
    const OpCost cost = c.backward();
    EXPECT_EQ(cost.bytes_read, 3 * kAll) << "x, y and the result's gradient";
    EXPECT_EQ(cost.bytes_written, 2 * kAll);
}

TEST(LeastBackward, AProductReadsTheOtherFactor) {
    Chain both;
    (void)both.op("mul", "mul.Tensor", {both.trained("x"), both.trained("w", {8})});
    EXPECT_EQ(both.backward().bytes_read, kAll + kAll + kRow);

    Chain one; // the factor that is not trained is read, the other is not
    (void)one.op("mul", "mul.Tensor", {one.trained("x"), one.input("y")});
    const OpCost cost = one.backward();
    EXPECT_EQ(cost.bytes_read, kAll + kAll);
    EXPECT_EQ(cost.bytes_written, kAll);
}

TEST(LeastBackward, AQuotientReadsTheDivisor) {
    Chain above;
    (void)above.op("div", "div.Tensor", {above.trained("x"), above.input("y")});
    EXPECT_EQ(above.backward().bytes_read, kAll + kAll) << "the divisor and the gradient";
    Chain below;
    (void)below.op("div", "div.Tensor", {below.input("x"), below.trained("y")});
    EXPECT_EQ(below.backward().bytes_read, 3 * kAll);
}

TEST(LeastBackward, WhatIsMadeInsideIsMadeAnew) {
    Chain c; // silu(x + y) * z: its value asks for x and y, the gradient of z as well
    const ValueId sum = c.op("add", "add.Tensor", {c.trained("x"), c.trained("y")});
    (void)c.op("mul", "mul.Tensor", {c.op("silu", "silu.default", {sum}), c.trained("z")});
    const OpCost cost = c.backward();
    EXPECT_EQ(cost.bytes_read, 4 * kAll) << "x, y, z and the gradient of the result";
    EXPECT_EQ(cost.bytes_written, 3 * kAll);
}

TEST(LeastBackward, AChoiceReadsItsCondition) {
    Chain c;
    (void)c.op("where", "where.self", {c.input("mask", DType::Bool), c.trained("x"), c.trained("y")});
    EXPECT_EQ(c.backward().bytes_read, 32 + kAll);
    Chain fill;
    (void)fill.op("masked", "masked_fill.Scalar", {fill.trained("x"), fill.input("mask", DType::Bool)});
    EXPECT_EQ(fill.backward().bytes_read, 32 + kAll);
}

TEST(LeastBackward, NothingTrainedIsNoBackward) {
    Chain c;
    (void)c.op("mul", "mul.Tensor", {c.input("x"), c.input("y")});
    EXPECT_EQ(c.backward().bytes(), 0);
}

// transformers' RMSNorm: x, the weight and the result's gradient are read, two gradients written.
TEST(LeastBackward, RmsNormOfTheSample) {
    const fusion::GraphFlow flow(*graphAlone().graph);
    const Result<Subgraph> part = subgraphOf(
        flow, nodesNamed(*graphAlone().graph, {"to_9", "pow_1", "mean", "add_3", "rsqrt", "mul_2", "to_10", "mul_3"}),
        false);
    ASSERT_TRUE(part.ok());
    const OpCost cost = leastBackwardCost(flow, Fills(flow), *part);
    const double rows = 2.0 * 4096 * 4096, weight = 2.0 * 4096;
    EXPECT_EQ(cost.bytes_read, 2 * rows + weight);
    EXPECT_EQ(cost.bytes_written, rows + weight);
}

TEST(ChainBackward, ABoundThatIsTrainedHasNoGradient) {
    Chain c;
    (void)c.op("clamp", "clamp.Tensor", {c.input("x"), c.trained("low")});
    EXPECT_EQ(c.problem(),
              "pointwise_chain has no gradient of a bound of clamp (clamp): the forward alone is measured");
    Chain fixed;
    (void)fixed.op("clamp", "clamp.Tensor", {fixed.trained("x"), fixed.input("low")});
    EXPECT_EQ(fixed.problem(), "");
}

} // namespace
} // namespace fusescope
