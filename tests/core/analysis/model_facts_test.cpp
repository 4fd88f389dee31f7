// SPDX-License-Identifier: Apache-2.0
// Qwen3-8B's published configuration, and the parameter count of two of its layers worked out by hand.
#include "core/graph/graph_builder.h"
#include "sample.h"

#include <utility>
#include <vector>

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

// A graph of linear layers at the given paths (class and size of the weight), one after the other.
struct Leaf {
    const char *path, *type;
    std::int64_t rows, columns;
    std::vector<std::pair<const char*, const char*>> around; // modules around it, outermost first
    const char* op = "linear.default";
};
ModelFacts factsOf(const std::vector<Leaf>& leaves) {
    const auto meta = [](std::vector<std::int64_t> sizes) {
        TensorMeta m;
        m.dtype = DType::Float32;
        m.sizes = std::move(sizes);
        return m;
    };
    GraphBuilder b;
    std::vector<ValueId> weights;
    for (const Leaf& leaf : leaves)
        weights.push_back(b.parameter(false, std::string("p_") + leaf.path, std::string(leaf.path) + ".weight",
                                      meta({leaf.rows, leaf.columns})));
    ValueId x = b.input(ValueKind::Input, "x", meta({4, 8}));
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        const Leaf& leaf = leaves[i];
        std::vector<ModuleFrame> stack{{"", "m.Top"}};
        for (const auto& [path, type] : leaf.around) stack.push_back({path, type});
        stack.push_back({leaf.path, leaf.type});
        const std::string name = "n" + std::to_string(i);
        b.node(name, std::string("torch.ops.aten.") + leaf.op, stack, "");
        b.argTensor("input", false, x);
        b.argTensor("weight", false, weights[i]);
        x = b.output(name, meta({4, leaf.rows}));
    }
    b.graphOutput(x);
    Result<ModelGraph> graph = std::move(b).finish();
    EXPECT_TRUE(graph.ok());
    return graph.ok() ? modelFacts(*graph) : ModelFacts{};
}

// Four experts of one layer are no four layers (a mixture of experts said to be "4 x Linear").
TEST(ModelFacts, ExpertsAreNoLayers) {
    std::vector<Leaf> experts;
    for (const char* path : {"up.0", "up.1", "up.2", "up.3"}) experts.push_back({path, "torch.nn.Linear", 8, 8, {}});
    const ModelFacts m = factsOf(experts);
    EXPECT_EQ(m.layers, -1);
    EXPECT_EQ(m.decoder_class, "");
}

// Qwen3-MoE and Mixtral: the block holds a router and experts; silu alone does not say what an expert's form is.
TEST(ModelFacts, AMixtureOfExpertsIsCalledOne) {
    const std::pair<const char*, const char*> layer{"layers.0", "m.MoeDecoderLayer"}, mlp{"layers.0.mlp", "m.MoeBlock"};
    const ModelFacts m = factsOf({{"layers.0.mlp.gate", "m.Router", 4, 8, {layer, mlp}},
                                  {"layers.0.mlp.experts", "m.Experts", 8, 8, {layer, mlp}, "silu.default"}});
    EXPECT_EQ(m.layers, 1);
    EXPECT_EQ(m.mlp, "MoE");
}

// OLMo 2 normalises q as a whole, 64 wide: 4 heads of 16 are not one of 64.
TEST(ModelFacts, ANormOverAllHeadsTellsNoHeadSize) {
    const std::pair<const char*, const char*> layer{"layers.0", "m.DecoderLayer"},
        attention{"layers.0.self_attn", "m.A"};
    const auto facts = [&](std::int64_t norm) {
        return factsOf({{"layers.0.self_attn.q_proj", "torch.nn.Linear", 64, 64, {layer, attention}},
                        {"layers.0.self_attn.k_proj", "torch.nn.Linear", 32, 64, {layer, attention}},
                        {"layers.0.self_attn.q_norm", "m.RMSNorm", norm, 1, {layer, attention}}});
    };
    EXPECT_EQ(facts(16).heads, 4);
    EXPECT_EQ(facts(64).heads, -1);
    EXPECT_EQ(facts(64).head_dim, -1);
}

// Whisper's first embedding is of positions: 16 of them are no vocabulary.
TEST(ModelFacts, PositionsAreNoVocabulary) {
    const ModelFacts m = factsOf({{"encoder.embed_positions", "torch.nn.Embedding", 16, 64, {}, "embedding.default"},
                                  {"decoder.embed_tokens", "torch.nn.Embedding", 256, 64, {}, "embedding.default"}});
    EXPECT_EQ(m.vocab, 256);
}

} // namespace
} // namespace fusescope::testing
