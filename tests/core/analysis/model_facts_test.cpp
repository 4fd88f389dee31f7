// SPDX-License-Identifier: Apache-2.0
// Qwen3-8B's published configuration, and the parameter count of two of its layers worked out by hand.
#include "sample.h"

namespace fusescope::testing {
namespace {

constexpr std::int64_t parametersOf(std::int64_t layers) {
    const std::int64_t attention = 4096LL * 4096 * 2 + 4096LL * 1024 * 2 + 2 * 128; // q, o, k, v, q_norm, k_norm
    const std::int64_t mlp = 3 * 4096LL * 12288;
    const std::int64_t norms = 2 * 4096;
    return 2 * 151936LL * 4096 + layers * (attention + mlp + norms) + 4096; // untied embedding and head, final norm
}
static_assert(parametersOf(2) == 1'630'556'672);
static_assert(parametersOf(36) == 8'190'735'360);

TEST(ModelFacts, FromTheGraph) {
    const ModelFacts& m = graphOnly().model;
    EXPECT_EQ(m.layers, 2);
    EXPECT_EQ(m.hidden, 4096);
    EXPECT_EQ(m.heads, 32);
    EXPECT_EQ(m.kv_heads, 8);
    EXPECT_EQ(m.gqa, "4:1");
    EXPECT_EQ(m.head_dim, 128);
    EXPECT_EQ(m.intermediate, 12288);
    EXPECT_EQ(m.vocab, 151936);
    EXPECT_EQ(m.mlp, "SwiGLU");
    EXPECT_EQ(m.norms_per_layer, 2);
    EXPECT_EQ(m.qk_norm, 1);
    EXPECT_EQ(m.bias, 0);
    EXPECT_EQ(m.tied_embeddings, 0);
    EXPECT_EQ(m.parameters, parametersOf(2));
    EXPECT_EQ(m.decoder_class, "Qwen3DecoderLayer");
}

TEST(ModelFacts, FromTheTraceAlone) {
    const ModelFacts& m = traceOnly().model;
    EXPECT_EQ(m.layers, 2);
    EXPECT_EQ(m.hidden, 4096);
    EXPECT_EQ(m.heads, 32);
    EXPECT_EQ(m.kv_heads, 8);
    EXPECT_EQ(m.head_dim, 128);
    EXPECT_EQ(m.intermediate, 12288);
    EXPECT_EQ(m.vocab, 151936);
    EXPECT_EQ(m.mlp, "SwiGLU");
    EXPECT_EQ(m.qk_norm, 1);
    EXPECT_EQ(m.parameters, parametersOf(2)); // the fused optimizer is handed every one of them
    EXPECT_EQ(m.decoder_class, "Qwen3DecoderLayer");
}

TEST(ModelFacts, ModuleFigures) {
    const Analysis& a = both();
    const ModuleId layer = a.link.modules.find("model.model.layers.0");
    ASSERT_TRUE(layer.valid());
    EXPECT_EQ(a.modules[layer.index()].parameters, (parametersOf(2) - parametersOf(1)));
    EXPECT_EQ(a.modules[layer.index()].output_shape, "1x4096x4096");
    const ModuleId gate = a.link.modules.find("model.model.layers.0.mlp.gate_proj");
    ASSERT_TRUE(gate.valid());
    EXPECT_DOUBLE_EQ(a.modules[gate.index()].flops, 2.0 * 4096 * 4096 * 12288);
    EXPECT_EQ(a.modules[gate.index()].output_shape, "1x4096x12288");
    EXPECT_GT(a.modules[gate.index()].forward_ns, 400e3); // the trace: about 510 us forward,
    EXPECT_LT(a.modules[gate.index()].forward_ns, 600e3);
    EXPECT_GT(a.modules[gate.index()].backward_ns, 900e3); // two matmuls backward
    EXPECT_LT(a.modules[gate.index()].backward_ns, 1200e3);
}

} // namespace
} // namespace fusescope::testing
