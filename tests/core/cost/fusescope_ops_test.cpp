// SPDX-License-Identifier: Apache-2.0
// Costs of the product's own operators, worked out by hand. Arguments are as the profiler records them (schemas:
// kernels/*/*_torch.cpp).
#include "core/cost/cost.h"
#include "tests/core/cost/toy_costs.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

using test::costs;
using test::opWithArgs;
using test::ToyTrace;

constexpr double kKi = 1024, kMi = kKi * kKi;
constexpr DType bf16 = DType::BFloat16, f32 = DType::Float32, i64 = DType::Int64;

OpArg tensor(DType type, std::vector<std::int64_t> sizes) {
    OpArg arg;
    arg.kind = ArgKind::Tensor;
    arg.tensor.dtype = type;
    arg.tensor.sizes = std::move(sizes);
    return arg;
}
OpArg scalar(std::string_view value) {
    OpArg arg;
    arg.kind = ArgKind::Scalar;
    arg.text = value;
    return arg;
}
OpArg none() { return {}; }
OpArg list(DType type, const std::vector<std::vector<std::int64_t>>& all) {
    OpArg arg;
    arg.kind = ArgKind::TensorList;
    for (const auto& sizes : all) arg.list.push_back(tensor(type, sizes).tensor);
    return arg;
}
OpCost cost(std::string_view op, std::vector<OpArg> args) { return costOfOp(op, args); }

void expectCost(const OpCost& c, double flops, double read, double written) {
    EXPECT_TRUE(c.flops_known && c.bytes_known) << c.formula;
    EXPECT_DOUBLE_EQ(c.flops, flops);
    EXPECT_DOUBLE_EQ(c.bytes_read, read);
    EXPECT_DOUBLE_EQ(c.bytes_written, written);
}

// 4096 tokens of 4096: n = 16 Mi, 32 MiB in bf16; the weight 8 KiB; a statistic a row 16 KiB.
TEST(FusescopeCost, Norms) {
    const OpArg x = tensor(bf16, {1, 4096, 4096}), w = tensor(bf16, {4096}), r = tensor(f32, {1, 4096});
    const OpArg eps = scalar("1e-06"), no = scalar("False");
    // aten::rms_norm has (x, normalized_shape, weight); ours has the weight second.
    expectCost(cost("fusescope::rms_norm", {x, w, eps, no}), 64 * kMi, 32 * kMi + 8 * kKi, 32 * kMi);
    expectCost(cost("fusescope::rms_norm_forward", {x, w, eps, no}), 64 * kMi, 32 * kMi + 8 * kKi, 32 * kMi + 16 * kKi);
    const double back_read = 64 * kMi + 8 * kKi + 16 * kKi;
    expectCost(cost("fusescope::rms_norm_backward", {x, x, w, r, eps, no, scalar("True")}), 144 * kMi, back_read,
               32 * kMi + 8 * kKi);
    expectCost(cost("fusescope::rms_norm_backward", {x, x, w, r, eps, no, scalar("False")}), 112 * kMi, back_read,
               32 * kMi);
    expectCost(cost("fusescope::add_rms_norm_forward", {x, x, w, eps, no}), 80 * kMi, 64 * kMi + 8 * kKi,
               64 * kMi + 16 * kKi);
    expectCost(cost("fusescope::add_rms_norm_backward", {x, x, x, w, r, eps, no, scalar("True")}), 160 * kMi,
               96 * kMi + 8 * kKi + 16 * kKi, 32 * kMi + 8 * kKi);
    // A weight in f32: the norm is in f32 then.
    expectCost(cost("fusescope::rms_norm", {x, tensor(f32, {4096}), eps, no}), 64 * kMi, 32 * kMi + 16 * kKi, 64 * kMi);
}

// 4096 tokens, 32 heads of q and 8 of k of 128: n = 40 * 128 * 4096 = 20 Mi; a table is 1 MiB.
TEST(FusescopeCost, Rope) {
    const OpArg q = tensor(bf16, {1, 4096, 32, 128}), k = tensor(bf16, {1, 4096, 8, 128}), w = tensor(bf16, {128}),
                table = tensor(bf16, {1, 4096, 128}), rq = tensor(f32, {1, 4096, 32}), rk = tensor(f32, {1, 4096, 8});
    const OpArg eps = scalar("1e-06"), no = scalar("False");
    expectCost(cost("fusescope::rope", {q, k, table, table, scalar("2"), no}), 60 * kMi, 42 * kMi, 40 * kMi);
    expectCost(cost("fusescope::rope_backward", {q, k, table, table, scalar("2"), no, no, no}), 60 * kMi, 42 * kMi,
               40 * kMi);
    const double weights = 2 * 256, statistics = 40 * 4096 * 4;
    expectCost(cost("fusescope::qk_norm_rope", {q, k, w, w, table, table, eps, no}), 140 * kMi, 42 * kMi + weights,
               40 * kMi);
    expectCost(cost("fusescope::qk_norm_rope_forward", {q, k, w, w, table, table, eps, no}), 140 * kMi,
               42 * kMi + weights, 40 * kMi + statistics);
    const std::vector<OpArg> back{q, k, q, k, w, w, table, table, rq, rk, eps, no};
    expectCost(cost("fusescope::qk_norm_rope_backward", back), 240 * kMi, 82 * kMi + weights + statistics,
               40 * kMi + weights);
    std::vector<OpArg> into = back;
    into.push_back(q);
    into.push_back(k);
    expectCost(cost("fusescope::qk_norm_rope_backward_into", into), 240 * kMi, 82 * kMi + weights + statistics,
               40 * kMi + weights);
}

TEST(FusescopeCost, SwiGlu) { // 4096 x 12288 = 48 Mi, 96 MiB
    const OpArg h = tensor(bf16, {1, 4096, 12288}), both = tensor(bf16, {1, 4096, 24576}), no = scalar("False");
    expectCost(cost("fusescope::swiglu", {h, h, no}), 240 * kMi, 192 * kMi, 96 * kMi);
    expectCost(cost("fusescope::swiglu_packed", {both, no}), 240 * kMi, 192 * kMi, 96 * kMi);
    expectCost(cost("fusescope::swiglu_backward", {h, h, h, no}), 576 * kMi, 288 * kMi, 192 * kMi);
    expectCost(cost("fusescope::swiglu_packed_backward", {h, both, no}), 576 * kMi, 288 * kMi, 192 * kMi);
}

// q, k, v of Qwen3-8B: 4096 tokens, 4096 to 4096 + 1024 + 1024.
TEST(FusescopeCost, Projections) {
    const double flops = 2.0 * 4096 * 6144 * 4096;
    const OpArg x = tensor(bf16, {1, 4096, 4096});
    const OpArg weights = list(bf16, {{4096, 4096}, {1024, 4096}, {1024, 4096}});
    const OpArg dy = list(bf16, {{1, 4096, 4096}, {1, 4096, 1024}, {1, 4096, 1024}});
    const OpCost forward = cost("fusescope::packed_projection", {x, weights});
    expectCost(forward, flops, 32 * kMi + 48 * kMi, 48 * kMi);
    EXPECT_DOUBLE_EQ(forward.tensor_flops, flops);
    expectCost(cost("fusescope::packed_projection_input_gradient", {dy, weights}), flops, 48 * kMi + 48 * kMi,
               32 * kMi);
    expectCost(cost("fusescope::packed_projection_weight_gradient", {dy, x}), flops, 48 * kMi + 32 * kMi, 48 * kMi);
    // As nodes of a graph: one weight, or three.
    expectCost(cost("fusescope::qkv_projection", {x, tensor(bf16, {6144, 4096}), scalar("4096"), scalar("1024")}),
               flops, 80 * kMi, 48 * kMi);
    expectCost(cost("fusescope::qkv_projection_separate",
                    {x, tensor(bf16, {4096, 4096}), tensor(bf16, {1024, 4096}), tensor(bf16, {1024, 4096})}),
               flops, 80 * kMi, 48 * kMi);
    const OpCost fp32 = cost("fusescope::packed_projection", {tensor(f32, {2, 4}), list(f32, {{3, 4}})});
    expectCost(fp32, 2 * 2 * 3 * 4, 4 * (8 + 12), 4 * 6);
    EXPECT_DOUBLE_EQ(fp32.tensor_flops, 0);
}

// 32 heads of q and 8 of k and v, 4096 tokens of 128, causal: half of 4*B*H*Sq*Sk*D; backward half of 10*.
TEST(FusescopeCost, Attention) {
    const OpArg q = tensor(bf16, {1, 32, 4096, 128}), kv = tensor(bf16, {1, 8, 4096, 128}),
                lse = tensor(f32, {1, 32, 4096});
    const OpArg yes = scalar("True"), no = scalar("False"), scale = scalar("0.088");
    const double product = 2.0 * 32 * 4096 * 4096 * 128, rows = 32 * 4096 * 4;
    const double inputs = 32 * kMi + 2 * 8 * kMi;
    expectCost(cost("fusescope::attention", {q, kv, kv, none(), yes, scale, none()}), product, inputs, 32 * kMi + rows);
    expectCost(cost("fusescope::attention_hopper", {q, kv, kv, yes, scale, none()}), product, inputs, 32 * kMi + rows);
    expectCost(cost("fusescope::attention_hopper", {q, kv, kv, no, scale, none()}), 2 * product, inputs,
               32 * kMi + rows);
    const OpCost back = cost("fusescope::attention_hopper_backward_atomic", {q, q, kv, kv, q, lse, yes, scale});
    expectCost(back, 2.5 * product, inputs + 64 * kMi + rows, inputs);
    EXPECT_DOUBLE_EQ(back.tensor_flops, 2.5 * product);
    // A mask of all queries and keys, read once: 4096 * 4096 * 2
    const OpArg mask = tensor(bf16, {1, 1, 4096, 4096});
    expectCost(cost("fusescope::attention", {q, kv, kv, mask, no, scale, none()}), 2 * product, inputs + 32 * kMi,
               32 * kMi + rows);
}

// 4096 tokens, hidden 4096, vocabulary 151936: 4096 * 151936 logits, which are in no memory.
TEST(FusescopeCost, LinearCrossEntropy) {
    const double logits = 4096.0 * 151936, product = 2 * logits * 4096, weight = 151936.0 * 4096 * 2;
    const OpArg x = tensor(bf16, {4096, 4096}), w = tensor(bf16, {151936, 4096}), labels = tensor(i64, {4096});
    const auto forward = [&](const char* dx, const char* dweight) {
        return cost("fusescope::linear_cross_entropy_forward", {x, w, labels, none(), none(), scalar("-100"), none(),
                                                                scalar("3000000000"), scalar(dx), scalar(dweight)});
    };
    const double read = 32 * kMi + weight + 4096 * 8;
    expectCost(forward("True", "True"), 3 * product + 9 * logits + 2 * 4096, read, 32 * kMi + weight + 4);
    expectCost(forward("True", "False"), 2 * product + 9 * logits + 2 * 4096, read, 32 * kMi + 4);
    expectCost(forward("False", "False"), product + 5 * logits + 2 * 4096, read, 4);
    EXPECT_DOUBLE_EQ(forward("True", "True").tensor_flops, 3 * product);
    const OpArg loss = tensor(f32, {}), state = tensor(f32, {4});
    expectCost(cost("fusescope::linear_cross_entropy_backward", {loss, state, x, w}), 16 * kMi + 151936.0 * 4096,
               20 + 32 * kMi + weight, 32 * kMi + weight);
    expectCost(cost("fusescope::linear_cross_entropy_backward_", {loss, state, x, w}), 0, 20, 0);
}

TEST(FusescopeCost, AdamW) { // 110 parameters: p, g, m, v read, p, m, v written
    const std::vector<std::vector<std::int64_t>> sizes{{10, 10}, {10}};
    const OpArg p = list(bf16, sizes), moments = list(f32, sizes), steps = list(f32, {{}, {}});
    expectCost(cost("fusescope::adamw_", {p, p, moments, moments, steps, scalar("0.001")}), 14 * 110,
               110 * (2 + 2 + 4 + 4), 110 * (2 + 4 + 4));
}

TEST(FusescopeCost, WhatIsNotRecordedIsNotKnown) {
    EXPECT_FALSE(cost("fusescope::rms_norm", {}).flops_known);
    EXPECT_FALSE(cost("fusescope::attention", {tensor(bf16, {4, 4})}).flops_known);
    EXPECT_FALSE(cost("fusescope::pointwise_chain", {list(bf16, {{4, 4}}), none()}).bytes_known);
    EXPECT_FALSE(cost("fusescope::unheard_of", {tensor(bf16, {4, 4}), tensor(bf16, {4, 4})}).flops_known);
    // Not the framework's mm: nothing is said of an operator of that name in our library.
    EXPECT_FALSE(cost("fusescope::mm", {tensor(bf16, {4, 4}), tensor(bf16, {4, 4})}).flops_known);
    OpArg weights = list(bf16, {});
    weights.truncated = true;
    EXPECT_FALSE(cost("fusescope::packed_projection", {tensor(bf16, {4, 4}), weights}).flops_known);
}

// --- kernels --------------------------------------------------------------------------------------------------------

const char* const kAdamW = "void fusescope::kernels::(anonymous namespace)::adamwStep<__nv_bfloat16, float, 1>"
                           "(fusescope::kernels::(anonymous namespace)::Arguments)";

TEST(FusescopeCost, TheKernelsNameTellsTheTypesOfTheOptimizersLists) {
    ToyTrace toy;
    opWithArgs(toy, "fusescope::adamw_", {0, 90},
               "[[[10,10],[10]],[[10,10],[10]],[[10,10],[10]],[[10,10],[10]],[[],[]],[]]",
               R"(["TensorList","TensorList","TensorList","TensorList","TensorList","Scalar"])");
    toy.launch(toy.main(), 10, 1);
    toy.kernel(100, 5, 1, kAdamW);
    const std::vector<OpCost> c = costs(toy);
    expectCost(c[0], 14 * 110, 110 * 12, 110 * 10);
    EXPECT_EQ(c[0].dtype, bf16);
}

// Lists of 30 tensors and more are recorded as empty. A block has room for two rounds of 256 threads with 8 elements.
TEST(FusescopeCost, TheGridStandsForListsThatAreNotRecorded) {
    ToyTrace toy;
    opWithArgs(toy, "fusescope::adamw_", {0, 90}, "[[],[],[],[],[],[]]",
               R"(["TensorList","TensorList","TensorList","TensorList","TensorList","Scalar"])");
    toy.launch(toy.main(), 10, 1);
    toy.launch(toy.main(), 20, 2);
    toy.kernel(100, 5, 1, kAdamW, 1000);
    toy.kernel(110, 5, 2, kAdamW, 10);
    const std::vector<OpCost> c = costs(toy);
    expectCost(c[0], 14 * 4096e3, 12 * 4096e3, 10 * 4096e3);
    expectCost(c[1], 14 * 4096e1, 12 * 4096e1, 10 * 4096e1);
}

// The gradients of a projection take lists alone; the autograd node around has the types.
TEST(FusescopeCost, TypesOfAListComeFromTheCaller) {
    ToyTrace toy;
    opWithArgs(toy, "torch::autograd::CppNode<fusescope::kernels::(anonymous namespace)::Projection>", {0, 100},
               "[[8,16]]", R"(["c10::BFloat16"])");
    opWithArgs(toy, "fusescope::packed_projection_input_gradient", {5, 90}, "[[[8,16]],[[16,32]]]",
               R"(["TensorList","TensorList"])");
    toy.launch(toy.main(), 10, 1);
    toy.kernel(100, 5, 1, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_NNT");
    const std::vector<OpCost> c = costs(toy);
    expectCost(c[0], 2 * 8 * 16 * 32, 2 * (8 * 16 + 16 * 32), 2 * 8 * 32);
    EXPECT_EQ(c[0].dtype, bf16);
}

// 8 tokens, hidden 4, vocabulary 16: 128 logits, three products of 1024 FLOPs; two kernels multiply, one takes 3/4 of
// their time.
TEST(FusescopeCost, ProductsGoToTheKernelsThatMultiply) {
    ToyTrace toy;
    opWithArgs(toy, "fusescope::linear_cross_entropy_forward", {0, 90}, "[[8,4],[16,4],[8],[],[],[],[],[],[],[]]",
               R"(["c10::BFloat16","c10::BFloat16","long int","","","Scalar","","Scalar","Scalar","Scalar"])",
               R"(["","","","","","-100","","3000000000","True","True"])");
    for (std::uint32_t n = 1; n <= 3; ++n) toy.launch(toy.main(), 10 * n, n);
    toy.kernel(100, 30, 1, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT");
    toy.kernel(200, 40, 2,
               "void fusescope::kernels::(anonymous namespace)::softmaxGradient<__nv_bfloat16>(__nv_bfloat16*, long)");
    toy.kernel(300, 10, 3, "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_NNT");
    const std::vector<OpCost> c = costs(toy);
    EXPECT_DOUBLE_EQ(c[0].tensor_flops, 3072 * 0.75);
    EXPECT_DOUBLE_EQ(c[0].flops, 3072 * 0.75);
    EXPECT_DOUBLE_EQ(c[1].tensor_flops, 0);
    EXPECT_DOUBLE_EQ(c[1].flops, 9 * 128 + 16);
    EXPECT_DOUBLE_EQ(c[2].tensor_flops, 3072 * 0.25);
}

} // namespace
} // namespace fusescope
