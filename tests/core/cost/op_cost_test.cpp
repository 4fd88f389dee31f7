// SPDX-License-Identifier: Apache-2.0
// Costs worked out by hand.
#include "core/cost/cost.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace fusescope {
namespace {

constexpr double kKi = 1024, kMi = kKi * kKi;

OpArg tensor(DType type, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {}) {
    OpArg arg;
    arg.kind = ArgKind::Tensor;
    arg.tensor.dtype = type;
    arg.tensor.sizes = std::move(sizes);
    arg.tensor.strides = std::move(strides);
    return arg;
}
OpArg text(ArgKind kind, std::string_view value) {
    OpArg arg;
    arg.kind = kind;
    arg.text = value;
    return arg;
}
OpArg scalar(std::string_view value) { return text(ArgKind::Scalar, value); }
OpArg none() { return {}; }
OpCost cost(std::string_view op, std::vector<OpArg> args) { return costOfOp(op, args); }

constexpr DType bf16 = DType::BFloat16, f32 = DType::Float32, i64 = DType::Int64;

TEST(MatmulCost, Mm) { // gate_proj of Qwen3-8B at 4096 tokens: 2*4096*12288*4096
    const OpCost c = cost("aten::mm", {tensor(bf16, {4096, 4096}), tensor(bf16, {4096, 12288})});
    EXPECT_DOUBLE_EQ(c.flops, 412316860416.0);
    EXPECT_DOUBLE_EQ(c.tensor_flops, 412316860416.0);
    EXPECT_DOUBLE_EQ(c.bytes_read, 32 * kMi + 96 * kMi);
    EXPECT_DOUBLE_EQ(c.bytes_written, 96 * kMi);
    // 412.3 GFLOP / 234.9 MB: far above the ridge. The article's "~500" counts otherwise; ours is
    // M*N*K*2/(2*(MK+KN+MN)).
    EXPECT_NEAR(c.intensity(), 1755.4, 0.1);
}

TEST(MatmulCost, BatchedWithBiasAndFullPrecision) {
    const OpCost bmm = cost("aten::bmm", {tensor(bf16, {32, 4096, 128}), tensor(bf16, {32, 128, 4096})});
    EXPECT_DOUBLE_EQ(bmm.flops, 2.0 * 32 * 4096 * 4096 * 128);
    const OpCost addmm = cost("aten::addmm", {tensor(bf16, {8}), tensor(bf16, {4, 16}), tensor(bf16, {16, 8})});
    EXPECT_DOUBLE_EQ(addmm.tensor_flops, 2 * 4 * 8 * 16);
    EXPECT_DOUBLE_EQ(addmm.flops, 2 * 4 * 8 * 16 + 32);
    EXPECT_DOUBLE_EQ(addmm.bytes_read, 2 * (8 + 64 + 128));
    const OpCost linear = cost("aten::linear", {tensor(bf16, {1, 4096, 4096}), tensor(bf16, {1024, 4096})});
    EXPECT_DOUBLE_EQ(linear.flops, 2.0 * 4096 * 1024 * 4096);
    EXPECT_DOUBLE_EQ(linear.bytes_written, 4096 * 1024 * 2);
    const OpCost fp32 = cost("aten::mm", {tensor(f32, {4, 4}), tensor(f32, {4, 4})});
    EXPECT_DOUBLE_EQ(fp32.tensor_flops, 0); // unless TF32 is allowed, which the operator does not tell
    const OpCost matmul = cost("aten::matmul", {tensor(bf16, {2, 1, 8, 16}), tensor(bf16, {3, 16, 4})});
    EXPECT_DOUBLE_EQ(matmul.flops, 2 * (2 * 3) * 8 * 4 * 16);
}

TEST(ElementwiseCost, ArticleExample) { // bf16 add of a scalar: 2 bytes read, 2 written, 1 FLOP
    const OpCost c = cost("aten::add", {tensor(bf16, {1000}), scalar("1"), scalar("1")});
    EXPECT_DOUBLE_EQ(c.intensity(), 0.25);
}

TEST(ElementwiseCost, BroadcastDimensionsAreReadOnce) {
    // x * rsqrt(var): [1,4096,4096] x [1,4096,1] float32
    const OpCost c = cost("aten::mul", {tensor(f32, {1, 4096, 4096}), tensor(f32, {1, 4096, 1})});
    EXPECT_DOUBLE_EQ(c.bytes_read, 64 * kMi + 16 * kKi);
    EXPECT_DOUBLE_EQ(c.bytes_written, 64 * kMi);
    EXPECT_DOUBLE_EQ(c.flops, 16 * kMi);
    // An expanded gradient (stride 0 over the last dimension): 4096 distinct elements
    const OpCost div = cost("aten::div", {tensor(f32, {1, 4096, 4096}, {4096, 1, 0}), tensor(i64, {})});
    EXPECT_DOUBLE_EQ(div.bytes_read, 16 * kKi + 8);
    EXPECT_DOUBLE_EQ(div.bytes_written, 64 * kMi);
}

TEST(ElementwiseCost, TypesOfResults) {
    const OpCost le = cost("aten::le", {tensor(i64, {1, 1, 1, 4096}), tensor(i64, {1, 1, 4096, 1})});
    EXPECT_DOUBLE_EQ(le.bytes_written, 16 * kMi); // one byte each
    EXPECT_DOUBLE_EQ(le.flops, 0);                // integers
    // A Python float keeps the tensor's type; float32 beside bf16 wins.
    EXPECT_DOUBLE_EQ(cost("aten::mul", {tensor(bf16, {100}), tensor(DType::Float64, {})}).bytes_written, 200);
    EXPECT_DOUBLE_EQ(cost("aten::mul", {tensor(bf16, {100}), tensor(f32, {100})}).bytes_written, 400);
    const OpCost where = cost("aten::where", {tensor(DType::Bool, {100}), tensor(bf16, {}), tensor(bf16, {})});
    EXPECT_DOUBLE_EQ(where.bytes_written, 200);
    EXPECT_DOUBLE_EQ(where.flops, 0);
}

TEST(ElementwiseCost, InPlaceAndAlpha) {
    const OpCost add_ = cost("aten::add_", {tensor(f32, {10, 10}), tensor(f32, {10, 10}), scalar("1")});
    EXPECT_DOUBLE_EQ(add_.bytes_read, 800);
    EXPECT_DOUBLE_EQ(add_.bytes_written, 400);
    EXPECT_DOUBLE_EQ(add_.flops, 100);
    EXPECT_DOUBLE_EQ(cost("aten::add", {tensor(f32, {10}), tensor(f32, {10}), scalar("0.5")}).flops, 20);
    const OpCost silu = cost("aten::silu", {tensor(bf16, {1, 4096, 12288})});
    EXPECT_DOUBLE_EQ(silu.flops, 4 * 48 * kMi);
    EXPECT_DOUBLE_EQ(silu.bytes(), 2 * 96 * kMi);
}

TEST(ElementwiseCost, SizesComeBeforeAnything) {
    const OpCost dynamic = cost("aten::mul", {tensor(f32, {kDynamicSize, 8}), tensor(f32, {8})});
    EXPECT_FALSE(dynamic.flops_known);
    EXPECT_FALSE(dynamic.bytes_known);
    const OpCost untyped = cost("aten::mul", {tensor(DType::Unknown, {8}), tensor(f32, {8})});
    EXPECT_FALSE(untyped.bytes_known);
    EXPECT_FALSE(cost("aten::no_such_operator", {tensor(f32, {8})}).flops_known); // unknown is not zero
}

TEST(CopyCost, ReadsTheSourceWritesTheDestination) {
    const OpCost c =
        cost("aten::copy_", {tensor(f32, {1, 4096, 4096}), tensor(bf16, {1, 4096, 4096}), scalar("False")});
    EXPECT_DOUBLE_EQ(c.bytes_read, 32 * kMi);
    EXPECT_DOUBLE_EQ(c.bytes_written, 64 * kMi);
    // repeat_kv: every head read once, written four times
    const OpCost kv = cost("aten::copy_", {tensor(bf16, {1, 8, 4, 4096, 128}),
                                           tensor(bf16, {1, 8, 4, 4096, 128}, {4194304, 128, 0, 1024, 1}), none()});
    EXPECT_DOUBLE_EQ(kv.bytes_read, 8 * kMi);
    EXPECT_DOUBLE_EQ(kv.bytes_written, 32 * kMi);
    EXPECT_DOUBLE_EQ(cost("aten::fill_", {tensor(f32, {10}), scalar("0")}).bytes_read, 0);
    EXPECT_DOUBLE_EQ(cost("aten::arange", {scalar("0"), scalar("4096"), scalar("1"), tensor(i64, {0})}).bytes_written,
                     32 * kKi);
}

TEST(ReductionCost, Mean) {
    const OpCost c =
        cost("aten::mean", {tensor(f32, {1, 4096, 4096}), text(ArgKind::ScalarList, "[-1]"), scalar("True"), none()});
    EXPECT_DOUBLE_EQ(c.bytes_read, 64 * kMi);
    EXPECT_DOUBLE_EQ(c.bytes_written, 16 * kKi);
    EXPECT_DOUBLE_EQ(c.flops, 16 * kMi + 4096);
}

TEST(ReductionCost, SumOverSomeAndAllDimensions) {
    const OpCost some =
        cost("aten::sum", {tensor(bf16, {1, 4096, 4096}), text(ArgKind::ScalarList, "[0, 1]"), scalar("True"), none()});
    EXPECT_DOUBLE_EQ(some.bytes_written, 8 * kKi);
    const OpCost all = cost("aten::sum", {tensor(i64, {100}), none()});
    EXPECT_DOUBLE_EQ(all.bytes_written, 8);
    EXPECT_DOUBLE_EQ(all.flops, 0);
    // The dimensions were not recorded: the size of the result is not known
    EXPECT_FALSE(cost("aten::sum", {tensor(f32, {10, 10}), text(ArgKind::ScalarList, ""), scalar("")}).bytes_known);
}

TEST(SoftmaxCost, ReadOnceWrittenOnce) {
    const OpCost c = cost("aten::_softmax", {tensor(f32, {1, 32, 4096, 4096}), scalar("-1"), scalar("False")});
    EXPECT_DOUBLE_EQ(c.bytes(), 2 * 2048 * kMi);
    EXPECT_DOUBLE_EQ(c.flops, 5 * 512 * kMi);
    const OpCost back =
        cost("aten::_softmax_backward_data", {tensor(f32, {10, 10}), tensor(f32, {10, 10}), scalar("-1"), scalar("6")});
    EXPECT_DOUBLE_EQ(back.bytes_read, 800);
    EXPECT_DOUBLE_EQ(back.bytes_written, 400);
    const OpCost nll = cost("aten::nll_loss_forward",
                            {tensor(f32, {4096, 151936}), tensor(i64, {4096}), none(), scalar("1"), scalar("-100")});
    EXPECT_DOUBLE_EQ(nll.bytes_read, 4096 * (4 + 8));
}

TEST(AttentionCost, CausalHalves) { // B=1 H=32 S=4096 D=128, 8 key heads
    const OpArg q = tensor(bf16, {1, 32, 4096, 128}), kv = tensor(bf16, {1, 8, 4096, 128});
    const double full = 4.0 * 32 * 4096 * 4096 * 128;
    const auto forward = [&](const char* causal) {
        return cost("aten::_cudnn_attention_forward",
                    {q, kv, kv, none(), none(), none(), scalar("4096"), scalar("4096"), scalar("True"), scalar("0."),
                     scalar(causal), scalar("False"), scalar("0.08")});
    };
    EXPECT_DOUBLE_EQ(forward("False").flops, full);
    EXPECT_DOUBLE_EQ(forward("True").flops, full / 2);
    EXPECT_DOUBLE_EQ(forward("True").tensor_flops, full / 2);
    EXPECT_DOUBLE_EQ(forward("True").bytes_read, (32 + 2 * 8) * kMi);
    EXPECT_DOUBLE_EQ(forward("True").bytes_written, 32 * kMi + 32 * 4096 * 4);
    const OpCost back =
        cost("aten::_cudnn_attention_backward",
             {q, q, kv, kv, q, tensor(f32, {1, 32, 4096, 1}), tensor(i64, {}), tensor(i64, {}), none(), none(), none(),
              scalar("4096"), scalar("4096"), scalar("0."), scalar("True"), scalar("0.08")});
    EXPECT_DOUBLE_EQ(back.flops, 2.5 * full / 2);
    // The layouts of the two families differ: [B, H, S, D] and [B, S, H, D]
    const OpArg q2 = tensor(bf16, {1, 4096, 32, 128}), kv2 = tensor(bf16, {1, 4096, 8, 128});
    const OpCost flash =
        cost("aten::_flash_attention_forward", {q2, kv2, kv2, none(), none(), scalar("4096"), scalar("4096"),
                                                scalar("0."), scalar("True"), scalar("False")});
    EXPECT_DOUBLE_EQ(flash.flops, full / 2);
    const OpCost decode = cost("aten::_scaled_dot_product_flash_attention",
                               {tensor(bf16, {1, 32, 1, 128}), tensor(bf16, {1, 8, 512, 128}),
                                tensor(bf16, {1, 8, 512, 128}), scalar("0."), scalar("False")});
    EXPECT_DOUBLE_EQ(decode.flops, 4.0 * 32 * 512 * 128);
}

TEST(GatherCost, Embedding) {
    const OpCost c = cost("aten::embedding", {tensor(bf16, {151936, 4096}), tensor(i64, {1, 4096})});
    EXPECT_DOUBLE_EQ(c.bytes_read, 32 * kMi + 32 * kKi);
    EXPECT_DOUBLE_EQ(c.bytes_written, 32 * kMi);
    const OpCost gather =
        cost("aten::gather", {tensor(bf16, {151936, 4096}), scalar("0"), tensor(i64, {4096, 4096}, {1, 0}),
                              scalar("False"), tensor(bf16, {4096, 4096})});
    EXPECT_DOUBLE_EQ(gather.bytes_read, 32 * kMi + 32 * kKi); // the expanded index is stored once
    const OpCost topk = cost("aten::topk", {tensor(f32, {2, 1000}), scalar("50"), scalar("-1")});
    EXPECT_DOUBLE_EQ(topk.bytes_written, 2 * 50 * 12);
}

TEST(NormCost, FusedRmsNorm) {
    const OpArg x = tensor(bf16, {1, 4096, 4096}), w = tensor(bf16, {4096});
    const OpCost forward = cost("aten::_fused_rms_norm", {x, text(ArgKind::ScalarList, "[4096]"), w, scalar("1e-06")});
    EXPECT_DOUBLE_EQ(forward.bytes_read, 32 * kMi + 8 * kKi);
    EXPECT_DOUBLE_EQ(forward.bytes_written, 32 * kMi + 4096 * 4); // one float32 a row
    EXPECT_NEAR(forward.intensity(), 1.0, 0.01);
    const OpCost back = cost("aten::_fused_rms_norm_backward",
                             {x, x, text(ArgKind::ScalarList, "[4096]"), tensor(f32, {1, 4096, 1}), w, none()});
    EXPECT_DOUBLE_EQ(back.bytes_read, 2 * 32 * kMi + 16 * kKi + 8 * kKi);
}

TEST(OptimizerCost, ListsOfTensors) {
    OpArg list;
    list.kind = ArgKind::TensorList;
    list.list.resize(2);
    for (TensorMeta& t : list.list) {
        t.dtype = bf16;
        t.sizes = {1000};
    }
    OpArg empty;
    empty.kind = ArgKind::TensorList;
    const OpCost adam = cost("aten::_fused_adamw_", {list, list, list, list, empty, empty});
    EXPECT_DOUBLE_EQ(adam.bytes_read, 4 * 4000);
    EXPECT_DOUBLE_EQ(adam.bytes_written, 3 * 4000);
    EXPECT_DOUBLE_EQ(adam.flops, 14 * 2000);
    OpArg unrecorded = empty;
    unrecorded.truncated = true; // lists of 30 and more
    EXPECT_FALSE(cost("aten::_fused_adamw_", {unrecorded, unrecorded, unrecorded, unrecorded}).bytes_known);
    const OpCost mul = cost("aten::_foreach_mul_", {list, scalar("0.9")});
    EXPECT_DOUBLE_EQ(mul.bytes(), 8000);
}

TEST(TritonCost, BytesWithoutArithmetic) {
    const OpCost c = cost("triton_poi_fused_mul_silu_10", {tensor(bf16, {100}), tensor(bf16, {100}), scalar("100")});
    EXPECT_TRUE(c.bytes_known);
    EXPECT_FALSE(c.flops_known);
    EXPECT_DOUBLE_EQ(c.bytes(), 400);
}

} // namespace
} // namespace fusescope
