// SPDX-License-Identifier: Apache-2.0
// Counts on the bundled sample. The model has 2 layers, each with 4 RMSNorms, one RoPE, one attention, one MLP, and a
// final norm: 2*4+1 norms. A residual add stands before every post_attention norm, before layer 1's input norm and the
// final one.
#include "tests/core/fusion/sample.h"

namespace fusescope::test {
namespace {

struct Count {
    const char* id;
    std::size_t graph, trace;
};
constexpr Count kCounts[] = {
    {"rms_norm", 9, 9},  {"add_rms_norm", 4, 4},         {"rope", 2, 2}, {"swiglu", 2, 2}, {"qkv_projection", 2, 2},
    {"attention", 2, 2}, {"linear_cross_entropy", 0, 1}, // the exported graph ends at the logits
};

std::size_t instancesOf(const std::vector<Finding>& findings, const char* id) {
    const Finding* finding = findById(findings, id);
    return finding == nullptr ? 0 : finding->instances.size();
}

TEST(Sample, GraphAlone) {
    const auto findings = findFusions(sample().input(true, false));
    for (const Count& count : kCounts) EXPECT_EQ(instancesOf(findings, count.id), count.graph) << count.id;
    for (const Finding& finding : findings) {
        EXPECT_EQ(finding.state, FusionState::Unfused);
        EXPECT_TRUE(finding.time_estimated);
        EXPECT_GT(finding.time_ns, 0);
        EXPECT_EQ(finding.step_share, 0);
        EXPECT_TRUE(finding.near_misses.empty());
        for (const Instance& instance : finding.instances) {
            EXPECT_TRUE(instance.from_graph && !instance.from_trace);
            EXPECT_TRUE(instance.forward.empty() && instance.backward.empty());
        }
    }
}

TEST(Sample, TraceAlone) {
    const auto findings = findFusions(sample().input(false, true));
    for (const Count& count : kCounts) EXPECT_EQ(instancesOf(findings, count.id), count.trace) << count.id;
    for (const Finding& finding : findings)
        for (const Instance& instance : finding.instances)
            EXPECT_TRUE(instance.from_trace && !instance.from_graph && instance.nodes.empty());
}

TEST(Sample, BothAreOne) {
    const auto findings = findFusions(sample().input(true, true));
    for (const Count& count : kCounts) {
        EXPECT_EQ(instancesOf(findings, count.id), count.trace) << count.id;
        if (count.graph == 0) continue;
        for (const Instance& instance : findById(findings, count.id)->instances)
            EXPECT_TRUE(instance.from_trace && instance.from_graph && !instance.nodes.empty()) << count.id;
    }
    EXPECT_EQ(findById(findings, "optimizer")->state, FusionState::Fused); // AdamW(fused=True)
}

// Kernels counted in the list of one step's kernels (facts: the step's launch order and nesting).
TEST(Sample, KernelsPerInstance) {
    const auto findings = findFusions(sample().input(false, true));
    for (const Instance& norm : findById(findings, "rms_norm")->instances) {
        EXPECT_EQ(norm.forward.size(), 8U);   // cast, pow, mean, add, rsqrt, mul, cast, mul
        EXPECT_EQ(norm.backward.size(), 15U); // 3 + 1 + 3 + 3 + 1 + 3 + 1 from weight mul to cast
    }
    for (const Instance& rope : findById(findings, "rope")->instances) {
        EXPECT_EQ(rope.forward.size(), 10U);  // mul, neg, cat, mul, add for q and for k
        EXPECT_EQ(rope.backward.size(), 18U); // mul, neg, 2 x (fill, copy), add_, mul, add_ for each
    }
    for (const Instance& mlp : findById(findings, "swiglu")->instances) {
        EXPECT_EQ(mlp.forward.size(), 2U);
        EXPECT_EQ(mlp.backward.size(), 3U); // mul, mul, silu_backward
    }
    for (const Instance& attention : findById(findings, "attention")->instances) {
        EXPECT_EQ(attention.forward.size(), 10U);  // 2 copies, matmul, scale, mask, cast, softmax, cast, matmul, copy
        EXPECT_EQ(attention.backward.size(), 11U); // 2 + cast + 2 + cast + scale + 2 matmuls + 2 sums over heads
    }
    for (const Instance& qkv : findById(findings, "qkv_projection")->instances) {
        EXPECT_EQ(qkv.forward.size(), 3U);
        EXPECT_EQ(qkv.backward.size(), 8U); // 6 matmuls, 2 additions of input gradients
    }
    const Instance& loss = findById(findings, "linear_cross_entropy")->instances.front();
    EXPECT_EQ(loss.forward.size(), 5U);  // matmul, 2 casts, log_softmax, nll
    EXPECT_EQ(loss.backward.size(), 8U); // 2 fills, nll, log_softmax, 2 casts, 2 matmuls
}

TEST(Sample, ModulesAreFoldedAndSourcesNamed) {
    const auto findings = findFusions(sample().input(true, true));
    const Finding& norm = *findById(findings, "rms_norm");
    EXPECT_EQ(norm.modules,
              (std::vector<std::string>{"model.model.layers.*.input_layernorm", "model.model.layers.*.self_attn.q_norm",
                                        "model.model.layers.*.self_attn.k_norm",
                                        "model.model.layers.*.post_attention_layernorm", "model.model.norm"}));
    // The lines of Qwen3RMSNorm.forward in the export's stack traces.
    EXPECT_EQ(norm.source, (std::vector<std::string>{"modeling_qwen3.py:61", "modeling_qwen3.py:62",
                                                     "modeling_qwen3.py:63", "modeling_qwen3.py:64"}));
    const auto traced = findFusions(sample().input(false, true));
    EXPECT_EQ(findById(traced, "linear_cross_entropy")->modules, std::vector<std::string>{"Qwen3ForCausalLM_0"});
    EXPECT_FALSE(findById(traced, "swiglu")->source.empty());
}

TEST(Sample, SignalsOfTheArticle) {
    for (const auto& input : {sample().input(true, true), sample().input(false, true), sample().input(true, false)}) {
        const auto findings = findFusions(input);
        const Finding& norm = *findById(findings, "rms_norm");
        EXPECT_EQ(norm.signals, (std::vector<int>{1, 2, 3, 4}));
        ASSERT_EQ(norm.signal_evidence.size(), 4U);
        for (const std::string& sentence : norm.signal_evidence)
            EXPECT_NE(sentence.find_first_of("0123456789"), std::string::npos) << sentence;
        EXPECT_NE(norm.signal_evidence[2].find("2 layers"), std::string::npos);
        EXPECT_EQ(findById(findings, "attention")->signals, (std::vector<int>{2, 3, 4})); // its kernels are long
        EXPECT_EQ(findById(findings, "swiglu")->signals, (std::vector<int>{2, 3, 4})); // two kernels are no dense row
    }
}

} // namespace
} // namespace fusescope::test
