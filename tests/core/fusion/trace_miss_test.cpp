// SPDX-License-Identifier: Apache-2.0
// What matches, and what must not, in the operators of a trace alone.
#include "tests/core/fusion/toy_graph.h"
#include "tests/core/fusion/toy_step.h"

namespace fusescope::test {
namespace {

void expectMiss(const NormStep& norm, const char* words) {
    ToyStep step;
    addNorm(step, norm);
    const auto found = step.match();
    EXPECT_EQ(countOf(found, Pattern::RmsNorm), 0U) << words;
    EXPECT_NE(missOf(found, Pattern::RmsNorm).find(words), std::string::npos) << missOf(found, Pattern::RmsNorm);
}

TEST(TraceMiss, TheNormItself) {
    ToyStep step;
    step.op("aten::add", "[[1, 16, 64], [1, 16, 64], []]", "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]");
    addNorm(step);
    const auto found = step.match();
    ASSERT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_EQ(countOf(found, Pattern::AddRmsNorm), 1U);
    EXPECT_EQ(found.found[0].kernels.size(), 8U);
    EXPECT_EQ(found.found[0].shape.rows, 16);
    EXPECT_EQ(found.found[0].shape.width, 64);
    EXPECT_EQ(found.found[0].shape.dtype, DType::BFloat16);
    EXPECT_EQ(found.found[1].kernels.size(), 9U);
}

TEST(TraceMiss, NormReasons) {
    NormStep n;
    n.mean_result = "[[1, 1, 64], [], []]";
    expectMiss(n, "last dimension");
    n = {};
    n.add_eps = false;
    expectMiss(n, "no eps");
    n = {};
    n.weight = "float";
    expectMiss(n, "the weight is f32 and the input bf16");
    n = {};
    n.exponent = "[\"\", \"3\"]";
    expectMiss(n, "does not square");
    n = {};
    n.product = "[[1, 16, 32], [1, 16, 1]]";
    expectMiss(n, "another tensor");
}

TEST(TraceMiss, AResidualOfAnotherShapeIsNone) {
    ToyStep step;
    step.op("aten::add", "[[16], [16], []]", "[\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"]");
    addNorm(step);
    EXPECT_EQ(countOf(step.match(), Pattern::AddRmsNorm), 0U);
}

TEST(TraceMiss, SwiGluNeedsItsProduct) {
    ToyStep good, bad, typed;
    for (ToyStep* step : {&good, &bad, &typed}) {
        step->op("aten::silu", "[[1, 16, 128]]", "[\"c10::BFloat16\"]");
        step->op("aten::linear", "[[1, 16, 64], [128, 64], []]", "[\"c10::BFloat16\", \"c10::BFloat16\", \"\"]");
    }
    good.op("aten::mul", "[[1, 16, 128], [1, 16, 128]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]");
    bad.op("aten::mul", "[[1, 16, 128], [1, 16, 1]]", "[\"c10::BFloat16\", \"c10::BFloat16\"]");
    typed.op("aten::mul", "[[1, 16, 128], [1, 16, 128]]", "[\"c10::BFloat16\", \"float\"]");
    EXPECT_EQ(countOf(good.match(), Pattern::SwiGlu), 1U);
    EXPECT_NE(missOf(bad.match(), Pattern::SwiGlu).find("shape"), std::string::npos);
    EXPECT_NE(missOf(typed.match(), Pattern::SwiGlu).find("type"), std::string::npos);
}

TEST(TraceMiss, AVocabularyMustFitTheLoss) {
    ToyStep step;
    step.op("aten::linear", "[[16, 64], [4096, 64], []]", "[\"c10::BFloat16\", \"c10::BFloat16\", \"\"]");
    step.op("aten::cross_entropy_loss", "[[16, 512], [16]]", "[\"float\", \"long int\"]");
    EXPECT_EQ(countOf(step.match(), Pattern::LinearCrossEntropy), 0U);
}

TEST(TraceMiss, WithoutShapesTheOrderTells) {
    ToyStep step;
    for (const char* op :
         {"aten::to", "aten::pow", "aten::mean", "aten::add", "aten::rsqrt", "aten::mul", "aten::to", "aten::mul"})
        step.op(op);
    const auto found = step.match();
    ASSERT_EQ(countOf(found, Pattern::RmsNorm), 1U);
    EXPECT_FALSE(found.found[0].shape.known());
    // Nothing is known of its bytes: as slow as the slowest of its kernels (5 us), of eight.
    const auto findings = findFusions(step.input(DeviceSpec{}));
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].time_ns, 40000);
    EXPECT_NEAR(findings[0].saving_ns.expected, 0.95 * 35000, 1);
    ASSERT_GE(findings[0].reasons.size(), 2U); // how often and how long, then how it was predicted
    EXPECT_EQ(findings[0].reasons[0].find("8 kernels, 40.0 µs"), 0U) << findings[0].reasons[0];
    EXPECT_EQ(findings[0].reasons[1].find("Shapes were not recorded"), 0U) << findings[0].reasons[1];
}

TEST(TraceMiss, AnEmptyTraceHasNoFindings) {
    ToyStep step;
    step.op("aten::view", "", "", "", nullptr);
    step.finish();
    EXPECT_TRUE(findFusions(step.input(DeviceSpec{})).empty());
}

} // namespace
} // namespace fusescope::test
