// SPDX-License-Identifier: Apache-2.0
// A training step with the product's own operators swapped in, from the file to the findings.
//
// tests/data/trace/fusescope_ops.pt.trace.json: operators, nesting, shapes and sequence numbers are those that PyTorch
// 2.11 recorded of such a step on the CPU (two layers, 8 tokens, hidden 64, 4 heads of q and 2 of k and v of 128,
// intermediate size 96, vocabulary 112, bf16), attention's reference renamed to what runs on a GPU. Times, launches and
// kernels were added by hand, named as the symbols of libfusescope_kernels.so are. The second layer has rms_norm twice
// and rope instead of qk_norm_rope, and gate and up in one projection.
#include "tests/core/analysis/sample.h"

#include <gtest/gtest.h>

#include <map>

namespace fusescope::testing {
namespace {

const Analysis& step() {
    static const AnalysisPtr a = analysed({FUSESCOPE_TEST_DATA_DIR "/trace/fusescope_ops.pt.trace.json"});
    return *a;
}

struct Sum {
    double flops = 0, bytes = 0;
    OpKind kind = OpKind::Other;
    Direction direction = Direction::Other;
    std::uint32_t calls = 0;
};
std::map<std::string, Sum> byOperator() {
    std::map<std::string, Sum> out;
    for (const OpSummary& row : step().ops) {
        Sum& sum = out[row.op];
        sum.flops += row.cost.flops;
        sum.bytes += row.cost.bytes();
        sum.kind = row.kind;
        sum.direction = row.direction;
        sum.calls += row.calls;
        EXPECT_DOUBLE_EQ(row.coverage, 1) << row.op; // FLOPs and bytes of everything are known
    }
    return out;
}

TEST(FusescopeStep, EveryRegionIsToldAsFused) {
    const std::pair<const char*, std::size_t> expected[] = {
        {"attention", 2}, {"rms_norm", 3},       {"add_rms_norm", 4},         {"qk_norm_rope", 1}, {"rope", 1},
        {"swiglu", 2},    {"qkv_projection", 2}, {"linear_cross_entropy", 1}, {"optimizer", 1},
    };
    EXPECT_EQ(step().findings.size(), std::size(expected));
    for (const auto& [id, instances] : expected) {
        const Finding* found = finding(step(), id);
        ASSERT_NE(found, nullptr) << id;
        EXPECT_EQ(found->state, FusionState::Fused) << id;
        EXPECT_EQ(found->verdict, Verdict::AlreadyFused) << id;
        EXPECT_EQ(found->instances.size(), instances) << id;
        EXPECT_EQ(found->saving_ns.high, 0) << id;
    }
    EXPECT_TRUE(step().plan.parts.empty());
}

// By the number of the autograd node, whose name is the C++ function's ("...::RmsNorm", "...::Projection").
TEST(FusescopeStep, EveryInstanceHasItsBackward) {
    const std::pair<const char*, std::size_t> kernels[] = {
        {"attention", 3}, {"rms_norm", 2}, {"add_rms_norm", 2},   {"qk_norm_rope", 2},
        {"rope", 1},      {"swiglu", 1},   {"qkv_projection", 3}, {"linear_cross_entropy", 2},
    };
    for (const auto& [id, count] : kernels)
        for (const Instance& instance : finding(step(), id)->instances)
            EXPECT_EQ(instance.backward.size(), count) << id;
}

TEST(FusescopeStep, Kinds) {
    auto ops = byOperator();
    EXPECT_EQ(ops["fusescope::rms_norm_forward"].kind, OpKind::Norm);
    EXPECT_EQ(ops["fusescope::qk_norm_rope_backward"].kind, OpKind::Norm);
    EXPECT_EQ(ops["fusescope::rope"].kind, OpKind::Rope);
    EXPECT_EQ(ops["fusescope::rope_backward"].kind, OpKind::Rope);
    EXPECT_EQ(ops["fusescope::swiglu_packed"].kind, OpKind::Mlp);
    EXPECT_EQ(ops["fusescope::packed_projection"].kind, OpKind::Matmul);
    EXPECT_EQ(ops["fusescope::packed_projection_input_gradient"].kind, OpKind::Matmul);
    EXPECT_EQ(ops["fusescope::attention_hopper"].kind, OpKind::Attention);
    EXPECT_EQ(ops["fusescope::attention_hopper_backward_atomic"].kind, OpKind::Attention);
    EXPECT_EQ(ops["fusescope::linear_cross_entropy_forward"].kind, OpKind::Loss);
    EXPECT_EQ(ops["fusescope::linear_cross_entropy_backward_"].kind, OpKind::Loss);
    EXPECT_EQ(ops["fusescope::adamw_"].kind, OpKind::Optimizer);
    EXPECT_EQ(ops["fusescope::adamw_"].direction, Direction::Optimizer);
    EXPECT_EQ(ops["fusescope::attention_hopper_backward_atomic"].direction, Direction::Backward);
    for (const KernelSummary& kernel : step().kernels) {
        EXPECT_NE(kernel.kind, OpKind::Other) << kernel.name;
        if (kernel.name.find("adamwStep") != std::string::npos) {
            EXPECT_EQ(kernel.kind, OpKind::Optimizer);
        }
    }
}

TEST(FusescopeStep, FlopsByHand) {
    auto ops = byOperator();
    // Rows of 64 (the input norm), and 8*4 and 8*2 heads of 128: 4n.
    EXPECT_DOUBLE_EQ(ops["fusescope::rms_norm_forward"].flops, 4 * (512 + 4096 + 2048));
    EXPECT_DOUBLE_EQ(ops["fusescope::rms_norm_backward"].flops, 9 * (512 + 4096 + 2048));
    EXPECT_DOUBLE_EQ(ops["fusescope::add_rms_norm_forward"].flops, 4 * 5 * 512);
    EXPECT_DOUBLE_EQ(ops["fusescope::add_rms_norm_backward"].flops, 4 * 10 * 512);
    EXPECT_DOUBLE_EQ(ops["fusescope::qk_norm_rope_forward"].flops, 7 * 6144);
    EXPECT_DOUBLE_EQ(ops["fusescope::qk_norm_rope_backward"].flops, 12 * 6144);
    EXPECT_DOUBLE_EQ(ops["fusescope::rope"].flops, 3 * 6144);
    EXPECT_DOUBLE_EQ(ops["fusescope::swiglu"].flops, 5 * 768);
    EXPECT_DOUBLE_EQ(ops["fusescope::swiglu_packed_backward"].flops, 12 * 768);
    // Twice 64 -> 512 + 256 + 256, once 64 -> 2 * 96.
    const double products = 2 * (2.0 * 8 * 1024 * 64) + 2.0 * 8 * 192 * 64;
    EXPECT_DOUBLE_EQ(ops["fusescope::packed_projection"].flops, products);
    EXPECT_DOUBLE_EQ(ops["fusescope::packed_projection_input_gradient"].flops, products);
    EXPECT_DOUBLE_EQ(ops["fusescope::packed_projection_weight_gradient"].flops, products);
    // Causal: half of 4*B*H*S*S*D and of 10*B*H*S*S*D, in two layers.
    EXPECT_DOUBLE_EQ(ops["fusescope::attention_hopper"].flops, 2 * (4.0 * 4 * 8 * 8 * 128 / 2));
    EXPECT_DOUBLE_EQ(ops["fusescope::attention_hopper_backward_atomic"].flops, 2 * (10.0 * 4 * 8 * 8 * 128 / 2));
    // 8 x 112 logits: three products, softmax and its gradient.
    EXPECT_DOUBLE_EQ(ops["fusescope::linear_cross_entropy_forward"].flops, 3 * (2.0 * 8 * 112 * 64) + 9 * 896 + 2 * 8);
    EXPECT_DOUBLE_EQ(ops["fusescope::adamw_"].flops, 14 * (112 * 64 + 4 * 64));
}

TEST(FusescopeStep, BytesByHand) {
    auto ops = byOperator();
    // q 8 KiB, k and v 4 KiB each, the output 8 KiB, a log-sum-exp for 4 * 8 rows.
    EXPECT_DOUBLE_EQ(ops["fusescope::attention_hopper"].bytes, 2 * (16384 + 8192 + 128));
    // x, the three weights and the results; the packed one of gate and up.
    EXPECT_DOUBLE_EQ(ops["fusescope::packed_projection"].bytes,
                     2 * 2.0 * (512 + 1024 * 64 + 8 * 1024) + 2.0 * (512 + 192 * 64 + 8 * 192));
    EXPECT_DOUBLE_EQ(ops["fusescope::swiglu"].bytes, 3 * 768 * 2);
    // bf16 throughout: 4 of p, g, m, v read, 3 written.
    EXPECT_DOUBLE_EQ(ops["fusescope::adamw_"].bytes, 7 * 2 * (112 * 64 + 4 * 64));
}

} // namespace
} // namespace fusescope::testing
