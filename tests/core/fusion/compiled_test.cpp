// SPDX-License-Identifier: Apache-2.0
// What is fused already: by operator, by kernel name; what only looks it; mixtures.
#include "tests/core/fusion/kernels_alone.h"
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
    std::vector<std::pair<std::string, std::int64_t>> kernels;
    for (const char* name :
         {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
          "void at::native::vectorized_elementwise_kernel<4, pow_tensor_scalar_kernel_impl<float, float>>",
          "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float>>>",
          "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>>",
          "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda>",
          "void at::native::elementwise_kernel<128, 2, BinaryFunctor<float, float, float, MulFunctor<float>>>",
          "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda>",
          "void at::native::elementwise_kernel<128, 4, BinaryFunctor<BFloat16, MulFunctor<float>>>"})
        kernels.emplace_back(name, 2000);
    const TracePtr trace = traceOfKernels(kernels);
    Progress progress;
    const Link link = linkTrace(*trace, nullptr, progress);
    const auto found = fusion::matchTrace(fusion::StepOps(*trace, link, -1));
    ASSERT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_EQ(found.found[0].kernels.size(), 8U);
}

// A compiled backward has no sequence numbers: the last instance's backward comes first (kernel names as in
// samples/traces/qwen3-8b-2layer-train-compiled).
TEST(Compiled, FusedBackwardsAreGivenOutInReverse) {
    const char* const forward = "triton_poi_fused__unsafe_view_mul_silu_10";
    const char* const backward = "triton_poi_fused__unsafe_view_mul_silu_silu_backward_view_4";
    ToyStep step;
    step.op(forward, "", "", "", forward, 70000);
    step.op(forward, "", "", "", forward, 69000);
    step.op(backward, "", "", "", backward, 115000);
    step.op(backward, "", "", "", backward, 116000);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    const Finding* swiglu = findById(findings, "swiglu");
    ASSERT_NE(swiglu, nullptr);
    ASSERT_EQ(swiglu->instances.size(), 2U);
    EXPECT_EQ(swiglu->instances[0].backward_ns, 116000);
    EXPECT_EQ(swiglu->instances[1].backward_ns, 115000);
    EXPECT_EQ(swiglu->time_ns, 70000 + 69000 + 115000 + 116000);
}

TEST(Compiled, WhoseBackwardIsWhoseIsNotGuessed) { // one for two
    ToyStep step;
    for (int i = 0; i < 2; ++i) step.op("triton_poi_fused_mul_silu_1", "", "", "", "triton_poi_fused_mul_silu_1");
    step.op("triton_poi_fused_mul_silu_silu_backward_4", "", "", "", "triton_poi_fused_mul_silu_silu_backward_4");
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    for (const Instance& instance : findById(findings, "swiglu")->instances) EXPECT_TRUE(instance.backward.empty());
}

TEST(Compiled, OneIsNoAll) {
    ToyStep step;
    step.op("aten::scaled_dot_product_attention", kHeads, kTypes, "", "flash_fwd_kernel", 900000);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    EXPECT_EQ(findings.front().reasons.front(), "It is fused already, 900 µs a step.");
    EXPECT_EQ(changeText(findings.front()), "");
}

// A profile of the CPU alone: every operator that computes stands for itself, not the first one only.
TEST(Compiled, WithoutGpuRowsTheOperatorsStandForThemselves) {
    ToyStep step;
    const char* const two = "[\"c10::BFloat16\", \"c10::BFloat16\"]";
    step.op("aten::embedding", "[[112, 64], [1, 16]]", "[\"c10::BFloat16\", \"long int\"]", "", nullptr);
    step.op("fusescope::rms_norm", "[[1, 16, 64], [64]]", two, "", nullptr);
    step.op("aten::scaled_dot_product_attention", kHeads, kTypes, "", nullptr);
    step.op("fusescope::swiglu", "[[1, 16, 96], [1, 16, 96]]", two, "", nullptr);
    const auto found = step.match();
    for (const Pattern pattern : {Pattern::RmsNorm, Pattern::Attention, Pattern::SwiGlu})
        EXPECT_EQ(countOf(found, pattern), 1U) << idOf(pattern);
    for (const fusion::Match& match : found.found) EXPECT_EQ(match.state, FusionState::Fused);
}

// 400 us of matmul, 600 of softmax in f32. The fused loss reads the logits once at least (a quarter of the softmax's
// traffic) and leaves their gradient in place as a rule (half of it); at worst it takes as long and the matmul 10%
// more.
TEST(Compiled, ALossWithoutShapesStillReadsTheLogits) {
    const auto findings = findingsOfKernels({{"nvjet_sm90_tst_320x128_TNT", 400000},
                                             {"unrolled_elementwise_kernel<direct_copy_kernel_cuda>", 450000},
                                             {"cunn_SoftMaxForward<8, float>", 600000},
                                             {"nll_loss_forward_reduce_cuda_kernel_2d", 5000}},
                                            2e6);
    const Finding* loss = findById(findings, "linear_cross_entropy");
    ASSERT_NE(loss, nullptr);
    EXPECT_NEAR(loss->predicted_ns.low, 550000, 1);
    EXPECT_NEAR(loss->predicted_ns.expected, 700000, 1);
    EXPECT_NEAR(loss->predicted_ns.high, 1040000, 1);
    EXPECT_TRUE(std::any_of(loss->reasons.begin(), loss->reasons.end(), [](const std::string& reason) {
        return reason.find("forward alone") != std::string::npos;
    }));
}

// torch.optim.AdamW with foreach: a dozen list operations inside Optimizer.step; the names are the profiler's.
TEST(Compiled, AForeachOptimizerIsNamedWithoutAFigure) {
    ToyStep step;
    step.annotation("Optimizer.step#AdamW.step", 8);
    for (const char* op :
         {"aten::_foreach_add_", "aten::_foreach_mul_", "aten::_foreach_lerp_", "aten::_foreach_mul_",
          "aten::_foreach_addcmul_", "aten::_foreach_sqrt", "aten::_foreach_div_", "aten::_foreach_addcdiv_"})
        step.op(op, "", "", "", "multi_tensor_apply_kernel", 20000);
    step.finish();
    const auto findings = findFusions(step.input(sample().device));
    const Finding* optimizer = findById(findings, "optimizer");
    ASSERT_NE(optimizer, nullptr);
    EXPECT_EQ(optimizer->state, FusionState::Unfused);
    EXPECT_EQ(optimizer->saving_ns.high, 0);
    EXPECT_EQ(optimizer->verdict, Verdict::Marginal);
    EXPECT_EQ(optimizer->instances.front().forward.size(), 8U);
    EXPECT_TRUE(makePlan(findings, 1e6).parts.empty());
    EXPECT_FALSE(changeText(*optimizer).empty());
}

// What is said to have been looked for has a matcher: neither QK-norm + RoPE nor chains of elementwise operators.
TEST(Compiled, SearchedAreThosePatternsThatHaveAMatcher) {
    const std::vector<Pattern> all = searchedPatterns();
    EXPECT_EQ(all, (std::vector<Pattern>{Pattern::Attention, Pattern::RmsNorm, Pattern::AddRmsNorm, Pattern::Rope,
                                         Pattern::SwiGlu, Pattern::QkvProjection, Pattern::LinearCrossEntropy,
                                         Pattern::Optimizer}));
    EXPECT_EQ(searchedText().find(catalogEntry(Pattern::PointwiseChain).title), std::string::npos);
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
    // 40 us of kernels and 94.5 of waiting; no backward ran, so none is spoken of.
    EXPECT_NE(norm->reasons.front().find("40.0 µs of kernels and 94.5 µs of waiting"), std::string::npos)
        << norm->reasons.front();
    for (const std::string& reason : norm->reasons) EXPECT_EQ(reason.find("backward"), std::string::npos) << reason;
}

} // namespace
} // namespace fusescope::test
