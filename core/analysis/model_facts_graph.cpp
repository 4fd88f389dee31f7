// SPDX-License-Identifier: Apache-2.0
// Facts of a decoder model from its graph: parameter names and shapes say nearly all of it.
#include "core/analysis/model_facts.h"

#include <algorithm>
#include <string_view>

namespace fusescope {
namespace {

bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

const Parameter* ownWeight(const ModuleTree& tree, const Module& module, std::string_view leaf = "weight") {
    for (const std::uint32_t p : module.parameters)
        if (endsWith(tree.parameters[p].name, leaf)) return &tree.parameters[p];
    return nullptr;
}

const Module* childNamed(const ModuleTree& tree, const Module& parent, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names)
        for (const ModuleId child : parent.children)
            if (tree.at(child).name == name) return &tree.at(child);
    return nullptr;
}

std::int64_t sizeAt(const Parameter* p, std::size_t dim) {
    return p != nullptr && p->meta.sizes.size() > dim ? p->meta.sizes[dim] : -1;
}

// The layers: siblings of one class whose class names a decoder layer, else the heaviest fold.
std::vector<ModuleId> decoderLayers(const ModuleTree& tree) {
    std::vector<ModuleId> best;
    std::int64_t best_weight = 0;
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        const Module& module = tree.modules[m];
        std::vector<ModuleId> same;
        for (const ModuleId child : module.children) {
            const Module& c = tree.at(child);
            // One that holds no module is part of a layer: an expert's projection, a norm.
            const bool layer = endsWith(c.type, "DecoderLayer") || endsWith(c.type, "Block") ||
                               (c.fold_group != Id<struct FoldTag>::kNone && !c.children.empty());
            if (layer && (same.empty() || tree.at(same.front()).type == c.type)) same.push_back(child);
        }
        if (same.empty()) continue;
        const bool named = endsWith(tree.at(same.front()).type, "DecoderLayer");
        const std::int64_t weight =
            tree.parameterCount(same.front()) * static_cast<std::int64_t>(same.size()) * (named ? 1000 : 1);
        if (weight > best_weight) {
            best_weight = weight;
            best = same;
        }
    }
    return best;
}

// head_dim where no q_norm tells: the last size of the attention operand ([B, heads, T, head_dim]).
std::int64_t headDimFromGraph(const ModelGraph& graph, const Module& attention, ModuleId attention_id) {
    (void)attention;
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n) {
        const std::string_view op = graph.ops.op(NodeId(n));
        if (op != "aten::scaled_dot_product_attention" && op != "aten::matmul" && op != "aten::bmm") continue;
        if (!graph.modules.contains(attention_id, graph.ops.nodes[n].module)) continue;
        const ValueId query = graph.ops.operand(NodeId(n), 0);
        if (query.valid() && graph.ops.at(query).meta.sizes.size() >= 3) return graph.ops.at(query).meta.sizes.back();
    }
    return -1;
}

bool usesOp(const ModelGraph& graph, ModuleId module, std::string_view op) {
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n)
        if (graph.ops.op(NodeId(n)) == op && graph.modules.contains(module, graph.ops.nodes[n].module)) return true;
    return false;
}

ModuleId idOf(const ModuleTree& tree, const Module& module) {
    return ModuleId(static_cast<std::size_t>(&module - tree.modules.data()));
}

void attentionFacts(const ModelGraph& graph, const Module& attention, ModelFacts& facts) {
    const ModuleTree& tree = graph.modules;
    const Module* q = childNamed(tree, attention, {"q_proj"});
    const Module* k = childNamed(tree, attention, {"k_proj"});
    const Module* q_norm = childNamed(tree, attention, {"q_norm", "q_layernorm"});
    facts.qk_norm = q_norm != nullptr ? 1 : 0;
    if (q_norm != nullptr) facts.head_dim = sizeAt(ownWeight(tree, *q_norm), 0);
    // A norm as wide as the projection is over all heads (OLMo 2): it does not tell a head's size.
    if (q != nullptr && facts.head_dim == sizeAt(ownWeight(tree, *q), 0)) facts.head_dim = -1;
    if (facts.head_dim <= 0) facts.head_dim = headDimFromGraph(graph, attention, idOf(tree, attention));
    if (q == nullptr || k == nullptr || facts.head_dim <= 0) return;
    const std::int64_t q_out = sizeAt(ownWeight(tree, *q), 0), k_out = sizeAt(ownWeight(tree, *k), 0);
    if (q_out > 0) facts.heads = q_out / facts.head_dim;
    if (k_out > 0) facts.kv_heads = k_out / facts.head_dim;
    if (facts.heads > 0 && facts.kv_heads > 0) facts.gqa = std::to_string(facts.heads / facts.kv_heads) + ":1";
}

void mlpFacts(const ModelGraph& graph, const Module& mlp, ModelFacts& facts) {
    const ModuleTree& tree = graph.modules;
    const Module* gate = childNamed(tree, mlp, {"gate_proj", "gate_up_proj", "w1"});
    const Module* up = childNamed(tree, mlp, {"up_proj", "w3", "fc1"});
    const Module* wide = gate != nullptr ? gate : up;
    if (wide != nullptr) {
        facts.intermediate = sizeAt(ownWeight(tree, *wide), 0);
        if (wide->name == "gate_up_proj" && facts.intermediate > 0) facts.intermediate /= 2;
    }
    if (childNamed(tree, mlp, {"experts"}) != nullptr) { // gated or not is a matter of each expert
        facts.mlp = "MoE";
        return;
    }
    const bool gated = gate != nullptr;
    const ModuleId id = idOf(tree, mlp);
    if (usesOp(graph, id, "aten::silu"))
        facts.mlp = gated ? "SwiGLU" : "SiLU";
    else if (usesOp(graph, id, "aten::gelu"))
        facts.mlp = gated ? "GeGLU" : "GELU";
    else if (usesOp(graph, id, "aten::relu"))
        facts.mlp = gated ? "ReGLU" : "ReLU";
}

} // namespace

ModelFacts modelFacts(const ModelGraph& graph) {
    ModelFacts facts;
    const ModuleTree& tree = graph.modules;
    if (tree.modules.empty()) return facts;
    facts.parameters = tree.parameterCount(ModuleId(std::size_t{0}));

    const Parameter *embedding = nullptr, *head = nullptr;
    for (const Module& module : tree.modules) {
        const bool positions = module.name.find("position") != std::string::npos || module.name == "wpe";
        if (embedding == nullptr && !positions && (module.type == "Embedding" || module.name == "embed_tokens"))
            embedding = ownWeight(tree, module);
        if (module.name == "lm_head") head = ownWeight(tree, module);
    }
    facts.vocab = sizeAt(embedding, 0);
    facts.hidden = sizeAt(embedding, 1);
    if (embedding != nullptr) {
        const bool shared =
            head != nullptr && (head == embedding || head->shared_with != Id<struct ParameterTag>::kNone ||
                                embedding->shared_with != Id<struct ParameterTag>::kNone);
        // Without a weight of its own the head can only be using the embedding's.
        const bool head_without_weight =
            head == nullptr &&
            std::any_of(tree.modules.begin(), tree.modules.end(), [](const Module& m) { return m.name == "lm_head"; });
        if (head != nullptr || head_without_weight) facts.tied_embeddings = shared || head_without_weight ? 1 : 0;
    }

    const std::vector<ModuleId> layers = decoderLayers(tree);
    if (layers.empty()) return facts;
    facts.layers = static_cast<std::int64_t>(layers.size());
    const ModuleId first = layers.front();
    facts.decoder_class = tree.at(first).type;
    facts.bias = 0;
    facts.norms_per_layer = 0;
    for (std::size_t m = 0; m < tree.modules.size(); ++m) {
        if (!tree.contains(first, ModuleId(m))) continue;
        const Module& module = tree.modules[m];
        if (const Parameter* bias = ownWeight(tree, module, ".bias"); bias != nullptr) facts.bias = 1;
        if (module.type.find("Norm") != std::string::npos && module.parent == first) ++facts.norms_per_layer;
    }
    if (const Module* attention = childNamed(tree, tree.at(first), {"self_attn", "attn", "attention"}))
        attentionFacts(graph, *attention, facts);
    if (const Module* mlp = childNamed(tree, tree.at(first), {"mlp", "feed_forward", "ffn"}))
        mlpFacts(graph, *mlp, facts);
    return facts;
}

} // namespace fusescope
