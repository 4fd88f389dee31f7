// SPDX-License-Identifier: Apache-2.0
// What is fused already: by operator, by kernel name; what only looks it; mixtures.
#include "tests/core/fusion/sample.h"
#include "tests/core/fusion/toy_graph.h"
#include "tests/core/fusion/toy_step.h"

namespace fusescope::test {
namespace {

const char* const kHeads = "[[1, 4, 8, 16], [1, 4, 8, 16], [1, 4, 8, 16]]";
const char* const kTypes = "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]";

TEST(Compiled, SdpaIsFusedUnlessItsMathBackendRan) {
    ToyStep flash, math;
    flash.op("aten::scaled_dot_product_attention", kHeads, kTypes, "", "void pytorch_flash::flash_fwd_kernel<...>");
    math.op("aten::scaled_dot_product_attention", kHeads, kTypes, "", "void cunn_SoftMaxForward<4, float, ...>");
    const auto fused = flash.match(), fallback = math.match();
    ASSERT_EQ(countOf(fused, Pattern::Attention), 1U);
    EXPECT_EQ(fused.found[0].state, FusionState::Fused);
    EXPECT_EQ(fused.found[0].shape.heads, 4);
    ASSERT_EQ(countOf(fallback, Pattern::Attention), 1U);
    EXPECT_EQ(fallback.found[0].state, FusionState::Unfused);
    EXPECT_NE(fallback.found[0].note.find("math backend"), std::string::npos);
}

// Names as in samples/traces/qwen3-8b-2layer-train-compiled.
TEST(Compiled, InductorsKernelsTellWhatTheyAre) {
    ToyStep step;
    const char* const names[] = {
        "triton_red_fused__to_copy_add_embedding_mean_mul_pow_rsqrt_0", "triton_poi_fused__unsafe_view_mul_silu_10",
        "triton_poi_fused__to_copy__unsafe_view_add_bmm_cat_cos_mul_neg_sin_slice_transpose_unsqueeze_view_5",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0_0"};
    for (const char* name : names) step.op(name, "", "", "", name);
    step.op("triton_poi_fused__unsafe_view_mul_silu_silu_backward_view_4", "", "", "",
            "triton_poi_fused__unsafe_view_mul_silu_silu_backward_view_4");
    const auto found = step.match();
    for (const Pattern pattern : {Pattern::RmsNorm, Pattern::SwiGlu, Pattern::Rope, Pattern::Attention})
        EXPECT_EQ(countOf(found, pattern), 1U) << idOf(pattern);
    for (const fusion::Match& match : found.found) EXPECT_EQ(match.state, FusionState::Fused);
}

// Liger#1470: patching instances leaves q_norm and k_norm as they were.
TEST(Compiled, HalfPatchedIsPartial) {
    ToyStep step;
    step.op("LigerRMSNormFunction", "[[1, 16, 64], [64]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]", "",
            "_rms_norm_forward_kernel");
    addNorm(step);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    const Finding* norm = findById(findings, "rms_norm");
    ASSERT_NE(norm, nullptr);
    EXPECT_EQ(norm->state, FusionState::Partial);
    EXPECT_EQ(norm->instances.size(), 2U);
    EXPECT_NE(norm->verdict, Verdict::AlreadyFused);
    EXPECT_EQ(norm->instances[0].saving_ns.high, 0);
}

TEST(Compiled, AlreadyFusedSavesNothingAndComesLast) {
    ToyStep step;
    step.op("aten::scaled_dot_product_attention", kHeads, kTypes, "", "flash_fwd_kernel", 900000);
    addNorm(step);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    ASSERT_GE(findings.size(), 2U);
    EXPECT_EQ(findings.back().id, "attention");
    EXPECT_EQ(findings.back().verdict, Verdict::AlreadyFused);
    EXPECT_TRUE(findings.back().signals.empty());
    EXPECT_EQ(findings.back().saving_ns.high, 0);
}

// Kernels alone, as when only ProfilerActivity.CUDA was on (names as in samples/traces/odd-cuda-only).
TEST(Compiled, WithoutOperatorsTheKernelsNamesStandForThem) {
    TraceBuilder builder;
    const TrackId stream = builder.track(TrackKind::GpuStream, 0, 7, 0, 7);
    std::int64_t ts = 1000;
    for (const char* name :
         {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
          "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl<float, float>>",
          "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
          "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>>",
          "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda>",
          "void at::native::elementwise_kernel<128, 2, BinaryFunctor<float, float, float, MulFunctor<float>>>",
          "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda>",
          "void at::native::elementwise_kernel<128, 4, BinaryFunctor<BFloat16, MulFunctor<float>>>"}) {
        CompleteEvent event;
        event.category = Category::Kernel;
        event.name = name;
        event.track = stream;
        event.ts = ts;
        event.dur = 2000;
        ts += 2500;
        builder.add(event, KernelDetail{});
    }
    Result<TracePtr> trace = std::move(builder).finish();
    ASSERT_TRUE(trace.ok());
    Progress progress;
    const Link link = linkTrace(**trace, nullptr, progress);
    const auto found = fusion::matchTrace(fusion::StepOps(**trace, link, -1));
    ASSERT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_EQ(found.found[0].kernels.size(), 8U);
}

// Decoding: tiny kernels, the GPU waits for the CPU between them. Waits count, up to what the launches cost.
TEST(Compiled, LaunchBoundRegionsCountTheirWaits) {
    ToyStep step;
    step.pace = 20000;
    addNorm(step);
    step.finish();
    DeviceSpec device = sample().device;
    device.launch_us = 4;
    const auto findings = findFusions(step.input(device));
    const Finding* norm = findById(findings, "rms_norm");
    ASSERT_NE(norm, nullptr);
    EXPECT_GT(norm->idle_ns, 0);
    // 8 kernels of 5 us, 7 waits of 15 us less the natural 1.5 us; 7 launches of 4 us are saved at most
    EXPECT_NEAR(norm->idle_ns, 7 * 13500, 1);
    EXPECT_NEAR(norm->time_ns, 40000 + 7 * 13500, 1);
    EXPECT_LE(norm->saving_ns.high, 40000 + 7 * 4000);
    EXPECT_GT(norm->saving_ns.high, 40000);
}

} // namespace
} // namespace fusescope::test
