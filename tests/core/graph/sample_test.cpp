// SPDX-License-Identifier: Apache-2.0
// The bundled sample: Qwen3-8B cut to two layers, exported by torch 2.11 on the meta device. The expected numbers come
// from the file's JSON, from print(model) of the same model, and from torch.fx's own printout.
#include "core/graph/layout.h"
#include "core/graph/print.h"
#include "core/graph/visible_graph.h"
#include "core/io/open.h"
#include "layout_checks.h"
#include "tests/support/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

namespace fusescope {
namespace {

const ModelGraph& sample() {
    static const GraphPtr graph = [] {
        Progress progress;
        const Result<GraphPtr> read = readPt2(test::samplePath("qwen3-8b-2layer-eager.pt2"), progress);
        return read ? *read : GraphPtr{};
    }();
    return *graph;
}

TEST(Sample, Opens) {
    const ModelGraph& graph = sample();
    EXPECT_EQ(graph.format, "pt2");
    EXPECT_EQ(graph.producer, "torch 2.11.0+cu130");
    EXPECT_EQ(graph.content_hash.size(), 32u);
    EXPECT_TRUE(graph.problems.empty());
}

TEST(Sample, OperatorCounts) {
    const ModelGraph& graph = sample();
    // 236 nodes in the file; one of them wraps a graph of 25 more and goes.
    EXPECT_EQ(graph.ops.nodes.size(), 236u - 1 + 25);
    std::map<std::string, int> count;
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n)
        ++count[std::string(graph.ops.strings.view(graph.ops.nodes[n].target))];
    EXPECT_EQ(count["torch.ops.aten.linear.default"], 15);
    EXPECT_EQ(count["torch.ops.aten.rsqrt.default"], 9);
    EXPECT_EQ(count["torch.ops.aten.softmax.int"], 2);
    EXPECT_EQ(count["torch.ops.aten.cos.default"], 1);
    EXPECT_EQ(count["torch.ops.aten.mul.Tensor"], 32);
    EXPECT_EQ(count["torch.ops.higher_order.wrap_with_set_grad_enabled"], 0);
}

TEST(Sample, Parameters) {
    const ModuleTree& tree = sample().modules;
    EXPECT_EQ(tree.parameterCount(ModuleId(std::size_t{0})), 1630556672);
    // 151936 x 4096, twice: all weights share one empty file here, and are not tied.
    EXPECT_EQ(tree.parameterCount(tree.find("model.lm_head")), 622329856);
    for (const Parameter& parameter : tree.parameters)
        EXPECT_GE(parameter.shared_with, tree.parameters.size()) << parameter.name;
}

TEST(Sample, Modules) {
    const ModuleTree& tree = sample().modules;
    const ModuleId attention = tree.find("model.model.layers.1.self_attn");
    ASSERT_TRUE(attention.valid());
    EXPECT_EQ(tree.at(attention).type, "Qwen3Attention");
    EXPECT_EQ(tree.at(attention).type_fqn, "transformers.models.qwen3.modeling_qwen3.Qwen3Attention");
    EXPECT_EQ(tree.modules[0].type, "Wrap");
    ASSERT_EQ(tree.folds.size(), 1u);
    EXPECT_EQ(tree.folds[0].members.size(), 2u);
    EXPECT_EQ(tree.at(tree.folds[0].members[0]).path, "model.model.layers.0");
}

TEST(Sample, SourceLines) {
    const OpGraph& ops = sample().ops;
    for (std::size_t n = 0; n < ops.nodes.size(); ++n)
        if (ops.name(NodeId(n)) == "pow_1") {
            EXPECT_EQ(ops.sourceLine(NodeId(n)), "modeling_qwen3.py:62");
            EXPECT_EQ(ops.sourceText(NodeId(n)), "variance = hidden_states.pow(2).mean(-1, keepdim=True)");
        }
}

TEST(Sample, PrintsAsPyTorchDoes) {
    EXPECT_EQ(printTree(sample()), R"(Wrap(
  (model): Qwen3ForCausalLM(
    (model): Qwen3Model(
      (embed_tokens): Embedding(151936, 4096)
      (layers): ModuleList(
        (0-1): 2 x Qwen3DecoderLayer(
          (self_attn): Qwen3Attention(
            (q_proj): Linear(in_features=4096, out_features=4096, bias=False)
            (k_proj): Linear(in_features=4096, out_features=1024, bias=False)
            (v_proj): Linear(in_features=4096, out_features=1024, bias=False)
            (o_proj): Linear(in_features=4096, out_features=4096, bias=False)
            (q_norm): Qwen3RMSNorm((128,), eps=1e-06)
            (k_norm): Qwen3RMSNorm((128,), eps=1e-06)
          )
          (mlp): Qwen3MLP(
            (gate_proj): Linear(in_features=4096, out_features=12288, bias=False)
            (up_proj): Linear(in_features=4096, out_features=12288, bias=False)
            (down_proj): Linear(in_features=12288, out_features=4096, bias=False)
            (act_fn): SiLUActivation()
          )
          (input_layernorm): Qwen3RMSNorm((4096,), eps=1e-06)
          (post_attention_layernorm): Qwen3RMSNorm((4096,), eps=1e-06)
        )
      )
      (norm): Qwen3RMSNorm((4096,), eps=1e-06)
      (rotary_emb): Qwen3RotaryEmbedding()
    )
    (lm_head): Linear(in_features=4096, out_features=151936, bias=False)
  )
))");
}

std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) all.push_back(line);
    return all;
}

// torch.fx's printout, but for the wrapped graph: FX prints the wrapper, we print what it wraps.
TEST(Sample, NodesPrintAsFxDoes) {
    const std::vector<std::string> ours = lines(printNodes(sample()));
    std::vector<std::string> fx = lines(test::readFile(test::dataPath("graph/qwen3-8b-2layer-eager-export.graph.txt")));
    ASSERT_GT(fx.size(), 200u);
    std::size_t wrapper = 0;
    while (wrapper < fx.size() && fx[wrapper].find("get_attr[target=submod_1]") == std::string::npos) ++wrapper;
    ASSERT_LT(wrapper + 4, fx.size());
    fx.erase(fx.begin() + static_cast<std::ptrdiff_t>(wrapper), fx.begin() + static_cast<std::ptrdiff_t>(wrapper) + 4);
    ASSERT_EQ(ours.size(), fx.size() + 25);
    for (std::size_t i = 0; i < fx.size(); ++i) EXPECT_EQ(ours[i < wrapper ? i : i + 25], fx[i]);
}

std::vector<std::string> edges(const VisibleGraph& visible) {
    std::vector<std::string> all;
    for (const VisibleEdge& edge : visible.edges)
        all.push_back(visible.nodes[edge.from].title + " -> " + visible.nodes[edge.to].title);
    return all;
}

TEST(Sample, DefaultPicture) {
    const VisibleGraph visible = visibleGraph(sample(), defaultView(sample()));
    EXPECT_THAT(edges(visible),
                testing::UnorderedElementsAre(
                    "input_ids -> embed_tokens", "mask and positions -> rotary_emb", "mask and positions -> self_attn",
                    "rotary_emb -> self_attn", "embed_tokens -> input_layernorm", "embed_tokens -> add",
                    "input_layernorm -> self_attn", "self_attn -> add", "add -> post_attention_layernorm",
                    "post_attention_layernorm -> mlp", "mlp -> add", "add -> add", "add -> norm", "norm -> lm_head",
                    "lm_head -> output"));
    ASSERT_EQ(visible.clusters.size(), 2u);
    EXPECT_EQ(visible.clusters[1].repeat, 2u);
    for (const VisibleEdge& edge : visible.edges) {
        if (visible.nodes[edge.from].title == "rotary_emb") {
            EXPECT_EQ(edge.label, "2 × 1x4096x128");
        }
        if (visible.nodes[edge.from].title == "input_layernorm") {
            EXPECT_EQ(edge.label, "1x4096x4096");
        }
    }
    const LayoutRequest request = layoutRequest(visible);
    test::checkLayout(request, layeredLayout(request));
}

TEST(Sample, AttentionPicture) {
    GraphViewState view = defaultView(sample());
    view.focus = sample().modules.find("model.model.layers.0.self_attn");
    const VisibleGraph visible = visibleGraph(sample(), view);
    const std::vector<std::string> all = edges(visible);
    EXPECT_THAT(all, testing::IsSupersetOf({"input_layernorm -> q_proj", "q_proj -> q_norm",
                                            "mask and positions -> add", "softmax -> to bf16", "to bf16 -> matmul",
                                            "v_proj -> matmul", "contiguous -> o_proj", "o_proj -> to add"}));
    const LayoutRequest request = layoutRequest(visible);
    test::checkLayout(request, layeredLayout(request));
}

TEST(Sample, EveryViewIsABoundedPicture) {
    const ModelGraph& graph = sample();
    for (std::size_t m = 0; m < graph.modules.modules.size(); ++m)
        for (const bool fold : {true, false})
            for (const bool hide : {true, false}) {
                GraphViewState view;
                for (std::size_t k = 0; k < graph.modules.modules.size(); ++k) view.expanded.insert(ModuleId(k));
                view.focus = ModuleId(m);
                view.fold_identical = fold;
                view.hide_plumbing = hide;
                SCOPED_TRACE(graph.modules.modules[m].path);
                const VisibleGraph visible = visibleGraph(graph, view);
                EXPECT_LE(visible.nodes.size(), kMaxVisibleNodes);
                const LayoutRequest request = layoutRequest(visible);
                test::checkLayout(request, layeredLayout(request));
            }
}

} // namespace
} // namespace fusescope
