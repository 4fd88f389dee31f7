// SPDX-License-Identifier: Apache-2.0
// Bytes of fused forms, worked out by hand from the formulas (facts, D2). bf16: 2 bytes.
#include "core/fusion/traffic.h"

#include <gtest/gtest.h>

namespace fusescope::fusion {
namespace {

constexpr double MB = 1 << 20;

Geometry rows(double count, double width, double hidden = 0) {
    Geometry shape;
    shape.dtype = DType::BFloat16;
    shape.rows = count;
    shape.width = width;
    shape.hidden = hidden;
    return shape;
}

TEST(Traffic, RmsNorm) { // 4096 x 4096: a tensor is 32 MiB, the weight 8 KiB, r 16 KiB
    const auto parts = fusedParts(Pattern::RmsNorm, rows(4096, 4096), true);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].read, 32 * MB + 8192);
    EXPECT_EQ(parts[0].written, 32 * MB + 16384);
    EXPECT_EQ(parts[1].read, 64 * MB + 8192 + 16384);
    EXPECT_EQ(parts[1].written, 32 * MB + 8192);
    EXPECT_TRUE(parts[1].backward);
    const auto inference = fusedParts(Pattern::RmsNorm, rows(4096, 4096), false);
    ASSERT_EQ(inference.size(), 1U);
    EXPECT_EQ(inference[0].written, 32 * MB);
}

TEST(Traffic, AddRmsNorm) {
    Geometry shape = rows(4096, 4096);
    auto parts = fusedParts(Pattern::AddRmsNorm, shape, true);
    EXPECT_EQ(parts[0].read, 64 * MB + 8192);
    EXPECT_EQ(parts[0].written, 64 * MB + 16384);
    EXPECT_EQ(parts[1].read, 96 * MB + 8192 + 16384);
    EXPECT_EQ(parts[1].written, 32 * MB + 8192);
    shape.residual_gradient = false; // the last norm of the model
    parts = fusedParts(Pattern::AddRmsNorm, shape, true);
    EXPECT_EQ(parts[1].read, 64 * MB + 8192 + 16384);
}

TEST(Traffic, SwiGlu) { // 4096 x 12288: 96 MiB
    const auto parts = fusedParts(Pattern::SwiGlu, rows(4096, 12288), true);
    EXPECT_EQ(parts[0].bytes(), 3 * 96 * MB);
    EXPECT_EQ(parts[1].bytes(), 5 * 96 * MB);
}

TEST(Traffic, Rope) { // 32 + 8 heads x 4096 x 128: 40 MiB; two tables of 1 MiB
    Geometry shape;
    shape.dtype = DType::BFloat16;
    shape.batch = 1, shape.heads = 32, shape.kv_heads = 8, shape.q_len = 4096, shape.head_dim = 128;
    const auto parts = fusedParts(Pattern::Rope, shape, true);
    ASSERT_EQ(parts.size(), 2U);
    for (const FusedPart& part : parts) {
        EXPECT_EQ(part.read, 42 * MB);
        EXPECT_EQ(part.written, 40 * MB);
    }
}

TEST(Traffic, Attention) { // Q, O 32 MiB; K, V 8 MiB; lse 512 KiB; causal: 4 * 32 * 4096^2 * 128 / 2 = 137.4 GFLOP
    Geometry shape;
    shape.dtype = DType::BFloat16;
    shape.batch = 1, shape.heads = 32, shape.kv_heads = 8, shape.q_len = 4096, shape.kv_len = 4096,
    shape.head_dim = 128;
    const auto parts = fusedParts(Pattern::Attention, shape, true);
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].bytes(), (32 + 16 + 32) * MB + 524288);
    EXPECT_EQ(parts[1].bytes(), (3 * 32 + 16 + 32 + 16) * MB + 524288);
    EXPECT_DOUBLE_EQ(parts[0].flops, 137438953472.0);
    EXPECT_DOUBLE_EQ(parts[1].flops, 2.5 * 137438953472.0);
    shape.q_len = 1; // decoding reads every key
    EXPECT_DOUBLE_EQ(fusedParts(Pattern::Attention, shape, false)[0].flops, 4.0 * 32 * 4096 * 128);
}

TEST(Traffic, QkvProjection) { // x 32 MiB, W 6144 x 4096 = 48 MiB, y 48 MiB; 2 * 4096 * 4096 * 6144 = 206.2 GFLOP
    const auto parts = fusedParts(Pattern::QkvProjection, rows(4096, 6144, 4096), true);
    ASSERT_EQ(parts.size(), 3U);
    for (const FusedPart& part : parts) {
        EXPECT_EQ(part.bytes(), (32 + 48 + 48) * MB);
        EXPECT_DOUBLE_EQ(part.flops, 206158430208.0);
        EXPECT_EQ(part.kernels, 1);
    }
}

TEST(Traffic, LinearCrossEntropyKeepsItsMatmuls) {
    const auto parts = fusedParts(Pattern::LinearCrossEntropy, rows(4096, 151936, 4096), true);
    double flops = 0;
    for (const FusedPart& part : parts) flops += part.flops;
    EXPECT_DOUBLE_EQ(flops, 3 * 2.0 * 4096 * 4096 * 151936);
}

TEST(Traffic, UnknownShapesHaveNone) {
    EXPECT_TRUE(fusedParts(Pattern::RmsNorm, Geometry{}, true).empty());
    EXPECT_TRUE(fusedParts(Pattern::Optimizer, rows(1, 1), true).empty());
}

TEST(Traffic, CheckpointingRunsTheForwardAgain) {
    const auto parts = fusedParts(Pattern::SwiGlu, rows(4096, 12288), true, 1);
    ASSERT_EQ(parts.size(), 3U);
    EXPECT_TRUE(parts[2].backward);
    EXPECT_EQ(parts[2].bytes(), parts[0].bytes());
}

} // namespace
} // namespace fusescope::fusion
