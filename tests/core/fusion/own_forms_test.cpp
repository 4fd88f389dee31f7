// SPDX-License-Identifier: Apache-2.0
// The product's own operators and kernels are fused forms, each of one pattern. Kernel names are the demangled symbols
// of libfusescope_kernels.so; where a template tells forms apart, both stand here.
#include "tests/core/fusion/kernels_alone.h"
#include "tests/core/fusion/sample.h"
#include "tests/core/fusion/toy_graph.h"
#include "tests/core/fusion/toy_step.h"

#include <optional>

namespace fusescope::test {
namespace {

const std::string kAnonymous = "void fusescope::kernels::(anonymous namespace)::";
const std::string kArguments = "(fusescope::kernels::(anonymous namespace)::Arguments<__nv_bfloat16>)";
const std::string kNorm = "(fusescope::kernels::(anonymous namespace)::Arguments<__nv_bfloat16, __nv_bfloat16>)";
const std::string kNormBackward = "(fusescope::kernels::NormBackwardArguments<__nv_bfloat16, __nv_bfloat16>";

struct Kernel {
    std::string name;
    std::optional<Pattern> forward, backward;
};

std::vector<Kernel> kernels() {
    std::vector<Kernel> out;
    const auto add = [&](const std::string& name, std::optional<Pattern> forward,
                         std::optional<Pattern> backward = std::nullopt) {
        out.push_back({name, forward, backward});
    };
    const std::string types = "<__nv_bfloat16, __nv_bfloat16, ";
    for (const std::string flat : {"false", "true"}) {
        add(kAnonymous + "normNarrow" + types + "16, 2, false, " + flat + ">" + kNorm, Pattern::RmsNorm);
        add(kAnonymous + "normNarrow" + types + "16, 2, true, " + flat + ">" + kNorm, Pattern::AddRmsNorm);
        for (const std::string once : {"false", "true"}) {
            const std::string rest = ", " + flat + ", " + once + ">" + kNormBackward + ")";
            add(kAnonymous + "normBackwardNarrow" + types + "32, false" + rest, std::nullopt, Pattern::RmsNorm);
            add(kAnonymous + "normBackwardNarrow" + types + "32, true" + rest, std::nullopt, Pattern::AddRmsNorm);
        }
    }
    for (const auto& [sum, pattern] :
         {std::pair("false>", Pattern::RmsNorm), std::pair("true>", Pattern::AddRmsNorm)}) {
        add(kAnonymous + "normBlock" + types + "4, " + sum + kNorm, pattern);
        add(kAnonymous + "normPlain" + types + sum + kNorm, pattern);
        add(kAnonymous + "normBackwardPlain" + types + sum + kNormBackward + ")", std::nullopt, pattern);
        add("void fusescope::kernels::normBackwardBlock" + types + "2, " + sum + kNormBackward + ", int)", std::nullopt,
            pattern);
        add("void fusescope::kernels::normBackwardFew" + types + sum + kNormBackward + ", int, __nv_bfloat16*)",
            std::nullopt, pattern);
    }
    add(kAnonymous + "qkNormRope<__nv_bfloat16, 16, false>" + kArguments, Pattern::QkNormRope);
    add(kAnonymous + "qkNormRopePlain<__nv_bfloat16, false>" + kArguments, Pattern::QkNormRope);
    add(kAnonymous + "qkNormRopeBackward<__nv_bfloat16, 16, false>" + kArguments, std::nullopt, Pattern::QkNormRope);
    add(kAnonymous + "qkNormRopeBackwardPlain<__nv_bfloat16, false>" + kArguments, std::nullopt, Pattern::QkNormRope);
    for (const std::string form : {"ropeVectors", "ropePlain"})
        for (const std::string once : {"false", "true"}) {
            add(kAnonymous + form + "<__nv_bfloat16, false, " + once + ">" + kArguments, Pattern::Rope);
            add(kAnonymous + form + "<__nv_bfloat16, true, " + once + ">" + kArguments, std::nullopt, Pattern::Rope);
        }
    const std::string layout = "<__nv_bfloat16, 1, 4, (fusescope::kernels::Layout)0>";
    add(kAnonymous + "swigluForward" + layout + kArguments, Pattern::SwiGlu);
    add(kAnonymous + "swigluBackward" + layout + kArguments, std::nullopt, Pattern::SwiGlu);
    add(kAnonymous + "attentionHopper<fusescope::kernels::hopper::Config<3>, __half>(fusescope::kernels::hopper::"
                     "Arguments)",
        Pattern::Attention);
    add(kAnonymous + "attentionWithoutKeys<__half>(fusescope::kernels::hopper::Arguments, long)", Pattern::Attention);
    add(kAnonymous + "attentionBackwardHopper<__half>(fusescope::kernels::hopper::backward::Arguments)", std::nullopt,
        Pattern::Attention);
    add("fusescope::kernels::(anonymous namespace)::sumLoss(fusescope::kernels::Tokens, fusescope::kernels::Softmax, "
        "fusescope::kernels::Divisor, float*)",
        Pattern::LinearCrossEntropy);
    add(kAnonymous + "adamwStep<float, float, 1>(fusescope::kernels::(anonymous namespace)::Arguments)",
        Pattern::Optimizer);
    add("fusescope_region", Pattern::PointwiseChain);
    // Helpers, of which an instance may have one beside the kernel that tells it, or none.
    add("void fusescope::kernels::sumColumns<__nv_bfloat16>(float const*, int, long, __nv_bfloat16*)", std::nullopt);
    add(kAnonymous + "sumWeightGradients<__nv_bfloat16>" + kArguments, std::nullopt);
    add("void fusescope::kernels::hopper::backward::prepareRows<__half>(fusescope::kernels::hopper::backward::"
        "RowArguments)",
        std::nullopt);
    add("void fusescope::kernels::hopper::backward::finishQueries<__half>(fusescope::kernels::hopper::backward::"
        "RowArguments)",
        std::nullopt);
    add(kAnonymous + "product<float, float>(fusescope::kernels::Matmul)", std::nullopt);
    return out;
}

bool claims(const std::vector<std::string>& globs, std::string_view name) {
    return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) { return fusion::fits(name, glob); });
}

TEST(OwnForms, EveryKernelIsOfOnePattern) {
    for (const Kernel& kernel : kernels())
        for (std::size_t p = 0; p < kPatternCount; ++p) {
            const CatalogEntry& entry = catalogEntry(static_cast<Pattern>(p));
            EXPECT_EQ(claims(entry.fused_kernels, kernel.name), kernel.forward == entry.pattern)
                << idOf(entry.pattern) << ": " << kernel.name;
            EXPECT_EQ(claims(entry.backward_kernels, kernel.name), kernel.backward == entry.pattern)
                << idOf(entry.pattern) << ", backward: " << kernel.name;
        }
}

TEST(OwnForms, EveryPatternNamesOurs) {
    for (std::size_t p = 0; p < kPatternCount; ++p) {
        const CatalogEntry& entry = catalogEntry(static_cast<Pattern>(p));
        EXPECT_TRUE(std::any_of(entry.fused_ops.begin(), entry.fused_ops.end(), [](const std::string& op) {
            return op.substr(0, 11) == "fusescope::";
        })) << idOf(entry.pattern);
        EXPECT_EQ(entry.existing.back().name, "FuseScope") << idOf(entry.pattern);
    }
}

// Kernels alone, as when only ProfilerActivity.CUDA was on: two layers, forward and backward.
TEST(OwnForms, KernelsAloneTellThemAndTheirBackward) {
    const std::string norm = kAnonymous + "normBlock<__nv_bfloat16, __nv_bfloat16, 1, true>" + kNorm;
    const std::string back =
        "void fusescope::kernels::normBackwardBlock<__nv_bfloat16, __nv_bfloat16, 1, true>" + kNormBackward + ", int)";
    const std::string sums = "void fusescope::kernels::sumColumns<__nv_bfloat16>(float const*, int, long, "
                             "__nv_bfloat16*)";
    const auto findings =
        findingsOfKernels({{norm, 2000}, {norm, 2100}, {back, 4000}, {sums, 300}, {back, 4100}, {sums, 300}}, 2e4);
    ASSERT_EQ(findings.size(), 1U);
    EXPECT_EQ(findings[0].id, "add_rms_norm");
    EXPECT_EQ(findings[0].verdict, Verdict::AlreadyFused);
    ASSERT_EQ(findings[0].instances.size(), 2U);
    EXPECT_EQ(findings[0].instances[0].backward_ns, 4100); // the last one's backward comes first
    EXPECT_EQ(findings[0].instances[1].backward_ns, 4000);
}

TEST(OwnForms, ShapesAreReadOffTheOperators) {
    const char* const types = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","Scalar","Scalar"])";
    ToyStep step;
    step.op("fusescope::add_rms_norm", "[[1,16,64],[1,16,64],[64],[],[]]", types, "", "normBlock");
    step.op("fusescope::swiglu_packed", "[[1,16,192],[]]", R"(["c10::BFloat16","Scalar"])", "", "swigluForward");
    step.op("fusescope::attention", "[[1,4,8,16],[1,2,8,16],[1,2,8,16],[],[],[],[]]",
            R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","","Scalar","Scalar",""])", "", "attentionHopper");
    step.op("fusescope::pointwise_chain", "[[[4,4]],[],[]]", R"(["TensorList","","Scalar"])", "", "fusescope_region");
    const auto found = step.match();
    ASSERT_EQ(found.found.size(), 4U);
    for (const fusion::Match& match : found.found) {
        EXPECT_EQ(match.state, FusionState::Fused);
        if (match.pattern == Pattern::AddRmsNorm) {
            EXPECT_EQ(match.shape.width, 64);
        }
        if (match.pattern == Pattern::SwiGlu) {
            EXPECT_EQ(match.shape.width, 96); // of gate, and of up
            EXPECT_EQ(match.shape.rows, 16);
        }
        if (match.pattern == Pattern::Attention) {
            EXPECT_EQ(match.shape.kv_heads, 2);
        }
    }
    EXPECT_EQ(countOf(found, Pattern::PointwiseChain), 1U);
}

// Our attention may run PyTorch's separate kernels, where no fused one takes the shapes.
TEST(OwnForms, AttentionOfTheMathBackendIsNotFused) {
    ToyStep step;
    step.op("fusescope::attention", "[[1,4,8,16],[1,2,8,16],[1,2,8,16]]",
            R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])", "", "void cunn_SoftMaxForward<4, float, ...>");
    const auto found = step.match();
    ASSERT_EQ(found.found.size(), 1U);
    EXPECT_EQ(found.found[0].state, FusionState::Unfused);
}

// Three products before a merged projection fit each other here; they are of the layer before.
TEST(OwnForms, NothingBeforeAMergedProjectionIsTakenForQKV) {
    const char* const types = R"(["c10::BFloat16","c10::BFloat16"])";
    const char* const heads = R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16"])";
    const auto projections = [&](ToyStep& step) {
        step.op("aten::linear", "[[1,8,64],[64,64]]", types, "", "nvjet");
        step.op("aten::linear", "[[1,8,64],[32,64]]", types, "", "nvjet");
        step.op("aten::linear", "[[1,8,64],[32,64]]", types, "", "nvjet");
    };
    ToyStep merged, apart;
    projections(merged);
    merged.op("fusescope::qkv_projection_separate", "[[1,8,64],[64,64],[32,64],[32,64]]",
              R"(["c10::BFloat16","c10::BFloat16","c10::BFloat16","c10::BFloat16"])", "", "nvjet");
    projections(apart);
    for (ToyStep* step : {&merged, &apart})
        step->op("fusescope::attention", "[[1,4,8,16],[1,2,8,16],[1,2,8,16]]", heads, "", "attentionHopper");
    const auto one = merged.match(), three = apart.match();
    ASSERT_EQ(countOf(one, Pattern::QkvProjection), 1U);
    ASSERT_EQ(countOf(three, Pattern::QkvProjection), 1U);
    for (const fusion::Match& match : one.found)
        if (match.pattern == Pattern::QkvProjection) {
            EXPECT_EQ(match.state, FusionState::Fused);
        }
    for (const fusion::Match& match : three.found)
        if (match.pattern == Pattern::QkvProjection) {
            EXPECT_EQ(match.state, FusionState::Unfused);
        }
}

} // namespace
} // namespace fusescope::test
