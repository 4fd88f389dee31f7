// SPDX-License-Identifier: Apache-2.0
// Costs of graph nodes, on the exported sample (2 layers of Qwen3-8B, 4096 tokens).
#include "core/cost/cost.h"
#include "core/io/open.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

class NodeCost : public testing::Test {
protected:
    void SetUp() override {
        Progress progress;
        const Result<GraphPtr> read = readPt2(FUSESCOPE_SAMPLES_DIR "/qwen3-8b-2layer-eager.pt2", progress);
        ASSERT_TRUE(read.ok());
        graph = *read;
    }
    [[nodiscard]] OpCost of(std::string_view name) const {
        for (std::size_t n = 0; n < graph->ops.nodes.size(); ++n)
            if (graph->ops.name(NodeId(n)) == name) return costOfNode(graph->ops, NodeId(n));
        ADD_FAILURE() << "no node " << name;
        return {};
    }
    GraphPtr graph;
};

constexpr double kMi = 1024 * 1024;

TEST_F(NodeCost, Operators) {
    EXPECT_DOUBLE_EQ(of("linear").flops, 137438953472.0);                 // q_proj: 2*4096^3
    EXPECT_DOUBLE_EQ(of("linear_14").flops, 2.0 * 4096 * 4096 * 151936);  // lm_head
    EXPECT_DOUBLE_EQ(of("matmul_1").flops, 2.0 * 32 * 4096 * 4096 * 128); // q @ k^T
    EXPECT_DOUBLE_EQ(of("matmul_1").tensor_flops, 2.0 * 32 * 4096 * 4096 * 128);
    EXPECT_DOUBLE_EQ(of("softmax").bytes_read, 1024 * kMi);    // bf16 in
    EXPECT_DOUBLE_EQ(of("softmax").bytes_written, 2048 * kMi); // float32 out
    EXPECT_DOUBLE_EQ(of("to_9").bytes_read, 32 * kMi);
    EXPECT_DOUBLE_EQ(of("to_9").bytes_written, 64 * kMi);
    EXPECT_DOUBLE_EQ(of("pow_1").flops, 16 * kMi);
    EXPECT_DOUBLE_EQ(of("mean").bytes_written, 4096 * 4);
    EXPECT_DOUBLE_EQ(of("silu").flops, 4 * 48 * kMi);
    EXPECT_DOUBLE_EQ(of("cat_1").bytes(), 2 * 32 * kMi);
    EXPECT_DOUBLE_EQ(of("embedding").bytes_written, 32 * kMi);
}

TEST_F(NodeCost, PlumbingIsFree) {
    for (const char* name : {"view", "transpose_1", "unsqueeze_18", "expand_2", "slice_2", "alias", "reshape_2"}) {
        EXPECT_DOUBLE_EQ(of(name).bytes(), 0) << name;
        EXPECT_TRUE(of(name).bytes_known) << name;
    }
    EXPECT_DOUBLE_EQ(of("dropout").bytes(), 0); // p = 0, not training
}

TEST_F(NodeCost, CopiesThatLookLikeViews) {
    EXPECT_DOUBLE_EQ(of("reshape").bytes_read, 8 * kMi); // repeat_kv: an expanded tensor cannot be viewed
    EXPECT_DOUBLE_EQ(of("reshape").bytes_written, 32 * kMi);
    EXPECT_DOUBLE_EQ(of("contiguous").bytes(), 64 * kMi); // after transpose
}

TEST_F(NodeCost, EveryNodeHasAFormula) {
    std::string missing;
    for (std::size_t n = 0; n < graph->ops.nodes.size(); ++n)
        if (!costOfNode(graph->ops, NodeId(n)).bytes_known) missing += std::string(graph->ops.name(NodeId(n))) + ' ';
    EXPECT_EQ(missing, "");
}

} // namespace
} // namespace fusescope
