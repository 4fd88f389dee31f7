// SPDX-License-Identifier: Apache-2.0
// The product's own operators and kernels. Kernel names are the demangled symbols of libfusescope_kernels.so, as
// Kineto prints them.
#include "core/link/fusescope_ops.h"

#include "core/link/op_names.h"
#include "tests/core/link/toy_trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace fusescope {
namespace {

using test::ToyTrace;

OpKind kind(std::string_view op, std::string_view module = "") { return kindOf(op, module, Direction::Forward, ""); }
OpKind ofKernel(std::string_view kernel) { return kindOf("", "", Direction::Other, kernel); }

TEST(FusescopeOps, KindsOfOperators) {
    const std::pair<const char*, OpKind> expected[] = {
        {"fusescope::rms_norm", OpKind::Norm},
        {"fusescope::rms_norm_backward", OpKind::Norm},
        {"fusescope::add_rms_norm_forward", OpKind::Norm},
        {"fusescope::qk_norm_rope_backward_into", OpKind::Norm},
        {"fusescope::rope", OpKind::Rope},
        {"fusescope::rope_backward", OpKind::Rope},
        {"fusescope::swiglu_packed_backward", OpKind::Mlp},
        {"fusescope::attention_hopper_backward_atomic", OpKind::Attention},
        {"fusescope::packed_projection_weight_gradient", OpKind::Matmul},
        {"fusescope::qkv_projection_separate", OpKind::Matmul},
        {"fusescope::linear_cross_entropy_backward_", OpKind::Loss},
        {"fusescope::adamw_", OpKind::Optimizer},
    };
    for (const auto& [op, kind_of_op] : expected) {
        EXPECT_EQ(kind(op), kind_of_op) << op;
        EXPECT_EQ(kind(op, "Qwen3Attention"), kind_of_op) << op; // whatever module calls it
    }
}

TEST(FusescopeOps, AnotherLibrarysOperatorsAreNotOurs) {
    EXPECT_EQ(kindOfOwnOp("aten::rope"), std::nullopt);
    EXPECT_EQ(kindOfOwnOp("rope"), std::nullopt);
    EXPECT_EQ(kindOfOwnOp("fusescope::"), std::nullopt);
    EXPECT_EQ(kind("other::swiglu"), OpKind::Elementwise);
}

// A chain is what its module is for.
TEST(FusescopeOps, AChainHasTheKindOfItsModule) {
    EXPECT_EQ(kind("fusescope::pointwise_chain"), OpKind::Elementwise);
    EXPECT_EQ(kind("fusescope::pointwise_chain", "LlamaRMSNorm"), OpKind::Norm);
    EXPECT_EQ(kind("fusescope::pointwise_chain", "LlamaMLP"), OpKind::Mlp);
}

TEST(FusescopeOps, KindsOfKernelsWithoutAnOperator) {
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::attentionHopper<fusescope::kernels::hopper::"
                       "Config<2>, __nv_bfloat16>(fusescope::kernels::hopper::Arguments)"),
              OpKind::Attention);
    EXPECT_EQ(ofKernel("void fusescope::kernels::hopper::backward::prepareRows<__nv_bfloat16>(fusescope::kernels::"
                       "hopper::backward::RowArguments)"),
              OpKind::Attention);
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::ropePlain<__half, true, false>(fusescope::"
                       "kernels::(anonymous namespace)::Arguments<__half>)"),
              OpKind::Rope);
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::qkNormRopePlain<float, false>(fusescope::"
                       "kernels::(anonymous namespace)::Arguments<float>)"),
              OpKind::Norm);
    EXPECT_EQ(ofKernel("void fusescope::kernels::normBackwardFew<__half, float, true>(fusescope::kernels::"
                       "NormBackwardArguments<__half, float>, int, float*)"),
              OpKind::Norm);
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::swigluBackward<float, 1, 4, (fusescope::"
                       "kernels::Layout)0>(fusescope::kernels::(anonymous namespace)::Arguments<float>)"),
              OpKind::Mlp);
    EXPECT_EQ(ofKernel("fusescope::kernels::(anonymous namespace)::countLabels(fusescope::kernels::Tokens, fusescope::"
                       "kernels::Divisor, bool, float*)"),
              OpKind::Loss);
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::adamwStep<float, float, 1>(fusescope::kernels::"
                       "(anonymous namespace)::Arguments)"),
              OpKind::Optimizer);
    EXPECT_EQ(ofKernel("void fusescope::kernels::(anonymous namespace)::product<float, float>(fusescope::kernels::"
                       "Matmul)"),
              OpKind::Matmul);
    EXPECT_EQ(ofKernel("fusescope_region"), OpKind::Elementwise);
    EXPECT_EQ(kindOfOwnKernel("void other::run<fusescope::kernels::Matmul>(int)"), std::nullopt);
    EXPECT_EQ(kindOfOwnKernel("fusescope::kernels::"), std::nullopt);
}

// --- against the sources of the library -----------------------------------------------------------------------------

const std::filesystem::path kKernels = std::filesystem::path(FUSESCOPE_RESOURCES_DIR).parent_path() / "kernels";

template <class Visit> void eachSource(const std::string& ending, const Visit& visit) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(kKernels)) {
        const std::string name = entry.path().filename().string();
        if (name.size() < ending.size() || name.substr(name.size() - ending.size()) != ending) continue;
        std::ifstream file(entry.path());
        visit(std::string(std::istreambuf_iterator<char>(file), {}));
    }
}

TEST(FusescopeOps, EveryOperatorIsKnown) {
    const std::set<std::string> without{"pointwise_chain", "pointwise_chain_gradient", "pointwise_chain_source",
                                        "pointwise_chain_binary"};
    std::size_t seen = 0;
    eachSource("_torch.cpp", [&](const std::string& text) {
        const std::string define = "m.def(\"";
        for (std::size_t at = text.find(define); at != std::string::npos; at = text.find(define, at + 1)) {
            const std::size_t begin = at + define.size();
            const std::string name = text.substr(begin, text.find_first_of("(.", begin) - begin);
            ++seen;
            EXPECT_EQ(kindOfOwnOp("fusescope::" + name).has_value(), without.count(name) == 0) << name;
        }
    });
    EXPECT_GT(seen, 30U);
}

TEST(FusescopeOps, EveryKernelIsKnown) {
    std::set<std::string> names;
    const auto find = [&](const std::string& text) {
        const std::string global = "__global__", bounds = "__launch_bounds__(";
        for (std::size_t at = text.find(global); at != std::string::npos; at = text.find(global, at + 1)) {
            std::size_t open = text.find('(', at);
            if (open == std::string::npos) return;
            if (text.substr(open + 1 - bounds.size(), bounds.size()) == bounds) { // skipped with what it holds
                int depth = 1;
                while (depth > 0 && ++open < text.size()) depth += text[open] == '(' ? 1 : text[open] == ')' ? -1 : 0;
                open = text.find('(', open);
            }
            if (open == std::string::npos) return;
            const std::size_t begin = text.find_last_of(" \n", open) + 1;
            names.insert(text.substr(begin, open - begin));
        }
    };
    eachSource(".cu", find);
    eachSource(".cuh", find);
    EXPECT_GT(names.size(), 25U);
    for (const std::string& name : names) {
        const std::string symbol = "fusescope::kernels::(anonymous namespace)::" + name;
        EXPECT_TRUE(kindOfOwnKernel(symbol + "(int)") || kindOfOwnKernel("void " + symbol + "<float>(int)")) << name;
    }
}

TEST(FusescopeOps, Phases) {
    EXPECT_EQ(phaseOfOp("fusescope::adamw_"), Phase::Optimizer);
    EXPECT_EQ(phaseOfOp("fusescope::linear_cross_entropy"), Phase::Loss);
    EXPECT_EQ(phaseOfOp("fusescope::rms_norm"), Phase::Unknown);
    EXPECT_EQ(phaseOfKernel("void fusescope::kernels::(anonymous namespace)::adamwStep<float, float, 1>(int)"),
              Phase::Optimizer);
    EXPECT_EQ(phaseOfKernel("fusescope::kernels::(anonymous namespace)::sumLoss(int)"), Phase::Loss);
    EXPECT_EQ(phaseOfKernel("void fusescope::kernels::(anonymous namespace)::ropePlain<float, false, false>(int)"),
              Phase::Unknown);
}

// Each operator with a kernel of its own, one after the other.
Link linkOf(ToyTrace& toy, std::initializer_list<const char*> names) {
    std::uint32_t n = 0;
    for (const char* name : names) {
        const std::int64_t ts = 10 + 100 * n;
        ++n;
        toy.op(toy.main(), name, ts, 90);
        toy.launch(toy.main(), ts + 10, n);
        toy.kernel(1000 + ts, 50, n);
    }
    const TracePtr trace = toy.finish();
    Progress progress;
    return linkTrace(*trace, nullptr, progress);
}

// Without Python frames the operators between the last product and the loss count as the loss. Ours holds its product.
TEST(FusescopeOps, TheLastNormIsNoPartOfALossThatHoldsItsProjection) {
    ToyTrace toy;
    const Link link = linkOf(toy, {"aten::linear", "fusescope::add_rms_norm", "fusescope::linear_cross_entropy"});
    ASSERT_EQ(link.kernels.size(), 3U);
    EXPECT_EQ(link.kernels[1].phase, Phase::Forward);
    EXPECT_EQ(link.kernels[1].kind, OpKind::Norm);
    EXPECT_EQ(link.kernels[2].phase, Phase::Loss);
    EXPECT_EQ(link.kernels[2].kind, OpKind::Loss);
}

// What an attention module runs before its first product is its RoPE; our attention is a product too.
TEST(FusescopeOps, AttentionBeforeTheOutputProjectionIsNotTakenForRope) {
    ToyTrace toy;
    toy.python(toy.main(), "nn.Module: Qwen3Attention_0", 0, 1000);
    const Link link = linkOf(toy, {"aten::mul", "fusescope::attention", "aten::mul", "aten::matmul"});
    ASSERT_EQ(link.kernels.size(), 4U);
    EXPECT_EQ(link.kernels[0].kind, OpKind::Rope);
    EXPECT_EQ(link.kernels[1].kind, OpKind::Attention);
    EXPECT_EQ(link.kernels[2].kind, OpKind::Attention); // a gate on its result, say
}

} // namespace
} // namespace fusescope
