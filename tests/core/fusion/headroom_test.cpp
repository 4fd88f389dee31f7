// SPDX-License-Identifier: Apache-2.0
// What findings that are fused already leave. The device is an H200: a copy reaches 4.27 TB/s.
#include "tests/core/fusion/sample.h"
#include "tests/core/fusion/toy_step.h"

#include "core/cost/attention.h"

namespace fusescope::test {
namespace {

Finding attentionOf(const char* op, const std::string& mask, const char* concrete, std::int64_t ns = 900000,
                    const std::string& keys = "[1, 4, 32, 16]") {
    ToyStep step;
    const std::string dims = "[[1, 4, 32, 16], " + keys + ", " + keys + ", " + mask + ", [], [], [], []]";
    step.op(op, dims.c_str(),
            "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"bool\", \"Scalar\", \"Scalar\", \"Scalar\", "
            "\"Scalar\"]",
            concrete, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", ns);
    step.op("aten::mul", "[[4096, 4096], [4096, 4096]]", "[\"float\", \"float\"]", "", "elementwise", 1100000);
    step.finish();
    FusionInput input = step.input(sample().device);
    input.step_ns = 2000000;
    const auto findings = findFusions(input);
    const Finding* finding = findById(findings, "attention");
    EXPECT_NE(finding, nullptr);
    return finding == nullptr ? Finding{} : *finding;
}

const char* const kSdpa = "aten::scaled_dot_product_attention";
const char* const kNotCausal = "[\"\", \"\", \"\", \"\", \"0.\", \"False\", \"\", \"False\"]";

TEST(Headroom, AMaskOfAllScoresIsTold) {
    const Finding finding = attentionOf(kSdpa, "[1, 1, 32, 32]", kNotCausal);
    EXPECT_EQ(finding.verdict, Verdict::AlreadyFused);
    EXPECT_EQ(finding.saving_ns.high, 0) << "nothing is promised";
    EXPECT_DOUBLE_EQ(finding.headroom_ns, 449000) << "half, but of the 2 us that any kernel takes";
    EXPECT_NE(finding.headroom.find("a mask of 32 x 32. If it only hides later tokens, is_causal=True"),
              std::string::npos)
        << finding.headroom;
    EXPECT_NE(std::find(finding.reasons.begin(), finding.reasons.end(), finding.headroom), finding.reasons.end());
}

TEST(Headroom, OfCuDnnsOperatorAndOfOurs) {
    EXPECT_GT(attentionOf("aten::_scaled_dot_product_cudnn_attention", "[1, 1, 32, 32]",
                          "[\"\", \"\", \"\", \"\", \"True\", \"0.\", \"False\", \"False\"]")
                  .headroom_ns,
              0);
    EXPECT_GT(attentionOf("fusescope::attention", "[1, 1, 32, 32]",
                          "[\"\", \"\", \"\", \"\", \"False\", \"0.1\", \"\", \"\"]")
                  .headroom_ns,
              0);
}

TEST(Headroom, NoneWithoutSuchAMask) {
    const char* const causal = "[\"\", \"\", \"\", \"\", \"0.\", \"True\", \"\", \"False\"]";
    EXPECT_EQ(attentionOf(kSdpa, "[]", causal).headroom_ns, 0);
    EXPECT_EQ(attentionOf(kSdpa, "[1, 1, 32, 32]", causal).headroom_ns, 0);
    EXPECT_EQ(attentionOf(kSdpa, "[1, 1, 1, 32]", kNotCausal).headroom_ns, 0) << "padding alone";
    EXPECT_EQ(attentionOf(kSdpa, "[1, 1, 32, 64]", kNotCausal).headroom_ns, 0) << "of other sizes";
    EXPECT_EQ(attentionOf(kSdpa, "[1, 4, 32, 32]", kNotCausal).headroom_ns, 0) << "a bias for each head";
    EXPECT_EQ(attentionOf(kSdpa, "[1, 1, 32, 64]", kNotCausal, 900000, "[1, 4, 64, 16]").headroom_ns, 0)
        << "is_causal aligns at the top left: other queries than keys are something else";
    EXPECT_GT(attentionOf(kSdpa, "[32, 32]", kNotCausal).headroom_ns, 0);
    const Finding small = attentionOf(kSdpa, "[1, 1, 32, 32]", kNotCausal, 30000);
    EXPECT_EQ(small.headroom_ns, 0) << "under 1% of the step";
    EXPECT_TRUE(small.headroom.empty());
}

TEST(Headroom, TheMaskIsReadWhereEachOperatorHasIt) {
    std::vector<OpArg> args(9);
    args[3].kind = args[4].kind = ArgKind::Tensor;
    args[3].tensor.sizes = {1, 1, 32, 32};
    args[4].tensor.sizes = {2, 1, 32, 32};
    const auto firstOf = [&](const char* op) {
        const TensorMeta* mask = attentionMask(op, args);
        return mask == nullptr ? 0 : static_cast<int>(mask->sizes[0]);
    };
    EXPECT_EQ(firstOf("aten::scaled_dot_product_attention"), 1);
    EXPECT_EQ(firstOf("aten::_efficient_attention_backward"), 2);
    EXPECT_EQ(firstOf("aten::_flash_attention_forward"), 0) << "takes none";
    EXPECT_EQ(firstOf("fusescope::attention"), 1);
    EXPECT_EQ(firstOf("fusescope::rms_norm"), 0);
    EXPECT_EQ(firstOf("aten::attention"), 0);
    EXPECT_EQ(firstOf(""), 0);
    EXPECT_EQ(firstOf("aten::_efficient_attention_forward"), 1);
    args.resize(10);
    args[9].text = "2"; // causal from the bottom right
    EXPECT_EQ(firstOf("aten::_efficient_attention_forward"), 0);
}

const char* const kNorm = "aten::_fused_rms_norm";
const char* const kNormTypes = "[\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"Scalar\"]";
const char* const kNormConcrete = "[\"\", \"[4096]\", \"\", \"1e-6\"]";

Finding normOf(std::int64_t ns, const DeviceSpec& device, int times = 1,
               const char* dims = "[[4096, 4096], [], [4096], []]", bool side_by_side = false) {
    ToyStep step;
    step.side_by_side = side_by_side;
    for (int i = 0; i < times; ++i)
        step.op(kNorm, dims, kNormTypes, kNormConcrete,
                "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, true>", ns);
    step.finish();
    FusionInput input = step.input(device);
    input.step_ns = 1000000;
    const auto findings = findFusions(input);
    const Finding* finding = findById(findings, "rms_norm");
    EXPECT_NE(finding, nullptr);
    return finding == nullptr ? Finding{} : *finding;
}

// 4096 x 4096 of 2 bytes read and written: 67.1 MB; at 95% of 4.27 TB/s 16.5 us, and 2 for the kernel.
TEST(Headroom, BandwidthThatIsNotReachedIsTold) {
    const DeviceSpec h200 = sample().device;
    const Finding slow = normOf(100000, h200), fast = normOf(22000, h200);
    EXPECT_NEAR(slow.headroom_ns, 100000 - 18540, 200);
    EXPECT_NE(slow.headroom.find("15.7% of what a plain copy reaches on H200"), std::string::npos) << slow.headroom;
    EXPECT_NE(slow.headroom.find("FuseScope brings torch.ops.fusescope.rms_norm"), std::string::npos) << slow.headroom;
    EXPECT_EQ(fast.headroom_ns, 0) << "3.5 us of 1 ms";
}

TEST(Headroom, NoBandwidthIsMissedWhereItDoesNotCount) {
    DeviceSpec device = sample().device;
    EXPECT_EQ(normOf(5000, device, 20, "[[4, 64], [], [64], []]").headroom_ns, 0) << "too small to be about memory";
    device.source = DeviceSource::Assumed;
    EXPECT_EQ(normOf(100000, device).headroom_ns, 0) << "of a GPU that nobody knows";
}

TEST(Headroom, SideBySideEachCountsByItsPart) {
    const Finding alone = normOf(100000, sample().device, 4);
    const Finding beside = normOf(100000, sample().device, 4, "[[4096, 4096], [], [4096], []]", true);
    EXPECT_NEAR(alone.headroom_ns, 4 * (100000 - 18540), 800);
    EXPECT_GT(beside.headroom_ns, 0);
    EXPECT_LT(beside.headroom_ns, 106000) << "they took 103 us together";
}

TEST(Headroom, OnlyAnAdamWIsReplacedByOurs) {
    const auto textOf = [](const char* op) {
        ToyStep step;
        step.op(
            op, "[[[4096, 4096]], [[4096, 4096]], [[4096, 4096]], [[4096, 4096]], [], [[]]]",
            "[\"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\", \"TensorList\"]", "",
            "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<c10::BFloat16, 4>>",
            900000);
        step.finish();
        FusionInput input = step.input(sample().device);
        input.step_ns = 1000000;
        const auto findings = findFusions(input);
        const Finding* finding = findById(findings, "optimizer");
        return finding == nullptr ? std::string("no finding") : finding->headroom;
    };
    const std::string adamw = textOf("aten::_fused_adamw_"), adam = textOf("aten::_fused_adam_");
    EXPECT_NE(adam.find("of what a plain copy reaches"), std::string::npos) << adam;
    EXPECT_EQ(adam.find("FuseScope brings"), std::string::npos) << adam;
    EXPECT_NE(adamw.find("FuseScope brings"), std::string::npos) << adamw;
}

TEST(Headroom, StandsBeforeWhatSavesNothing) {
    ToyStep step;
    step.op("aten::_fused_rms_norm", "[[4096, 4096], [], [4096], []]",
            "[\"c10::BFloat16\", \"ScalarList\", \"c10::BFloat16\", \"Scalar\"]", "[\"\", \"[4096]\", \"\", \"1e-6\"]",
            "vectorized_layer_norm_kernel", 100000);
    step.op("aten::scaled_dot_product_attention", "[[1, 4, 8, 16], [1, 4, 8, 16], [1, 4, 8, 16]]",
            "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\"]", "", "flash_fwd_kernel", 5000);
    step.op("aten::_foreach_addcdiv_", "", "", "", "multi_tensor_apply_kernel", 5000); // nothing is predicted for it
    step.finish();
    FusionInput input = step.input(sample().device);
    input.step_ns = 1000000;
    std::vector<std::string> order;
    for (const Finding& finding : findFusions(input)) order.push_back(finding.id);
    EXPECT_EQ(order.front(), "rms_norm");
    EXPECT_EQ(order.back(), "attention");
}

// PyTorch's fused AdamW on 1.63e9 bf16 parameters. FuseScope's took 5.45 ms of as many on an H200.
TEST(Headroom, OfTheSamplesOptimizerIsWhatABetterOneTook) {
    const auto findings = findFusions(sample().input(false, true));
    const Finding* finding = findById(findings, "optimizer");
    ASSERT_NE(finding, nullptr);
    EXPECT_EQ(finding->verdict, Verdict::AlreadyFused);
    EXPECT_NEAR(finding->time_ns - finding->headroom_ns, 5.45e6, 0.1 * 5.45e6);
    EXPECT_NE(finding->headroom.find("torch.ops.fusescope.adamw_"), std::string::npos) << finding->headroom;
    for (const Finding& other : findings)
        if (other.id != "optimizer") {
            EXPECT_TRUE(other.headroom.empty()) << other.id;
        }
}

} // namespace
} // namespace fusescope::test
