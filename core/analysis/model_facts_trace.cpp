// SPDX-License-Identifier: Apache-2.0
// Facts of a decoder model from a trace alone: module classes say how many layers, recorded shapes the widths.
#include "core/analysis/model_facts.h"

#include "core/trace/op_args.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace fusescope {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }
bool endsWith(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

struct Row { // a kernel's leaf operator and the module it ran in
    std::string_view op;
    std::vector<OpArg> args;
    const Module* module = nullptr;
    const Module* parent = nullptr;
};

std::int64_t dim(const Row& row, std::size_t arg, std::size_t from_back) {
    if (row.args.size() <= arg) return -1;
    const auto& sizes = row.args[arg].tensor.sizes;
    return sizes.size() > from_back ? sizes[sizes.size() - 1 - from_back] : -1;
}

// Parameters: the fused optimizer is handed all of them (lists of 30 and more are recorded empty: then unknown).
std::int64_t parametersFromOptimizer(const TraceStore& trace) {
    for (std::size_t i = 0; i < trace.cpu_ops.size(); ++i) {
        const std::string_view name = trace.nameOf(trace.cpu_ops.slice[i]);
        if (!contains(name, "_fused_adam") && !contains(name, "_fused_sgd") && name != "fusescope::adamw_") continue;
        const std::vector<OpArg> args = parseOpArgs(trace, CpuOpId(i));
        if (args.empty() || args[0].kind != ArgKind::TensorList || args[0].truncated || args[0].list.empty()) continue;
        std::int64_t sum = 0;
        for (const TensorMeta& tensor : args[0].list) sum += tensor.numel();
        return sum;
    }
    return -1;
}

void layerFacts(const Link& link, ModelFacts& facts) {
    std::map<std::string_view, std::int64_t> layers;
    for (const Module& module : link.modules.modules)
        if (endsWith(module.type, "DecoderLayer")) ++layers[module.type];
    for (const auto& [type, count] : layers)
        if (count > facts.layers) {
            facts.layers = count;
            facts.decoder_class = type;
        }
    for (std::size_t m = 0; m < link.modules.modules.size(); ++m) {
        const Module& layer = link.modules.modules[m];
        if (layer.type != facts.decoder_class || facts.decoder_class.empty()) continue;
        facts.norms_per_layer = 0;
        for (const ModuleId child : layer.children)
            if (contains(link.modules.at(child).type, "Norm")) ++facts.norms_per_layer;
        return; // the first layer speaks for all
    }
}

// Sizes that the projections of one attention module hand to mm: [tokens, hidden] x [hidden, out].
void attentionFacts(const Row& row, std::vector<std::int64_t>& outs, ModelFacts& facts) {
    if (row.parent == nullptr || !contains(row.parent->type, "Attention")) return;
    if (row.op == "aten::mm" || row.op == "aten::addmm") outs.push_back(dim(row, row.op == "aten::mm" ? 1 : 2, 0));
    if (contains(row.module->type, "Norm") && row.op == "aten::pow" && facts.head_dim < 0) {
        facts.qk_norm = 1;
        facts.head_dim = dim(row, 0, 0);
    }
}

} // namespace

ModelFacts modelFacts(const TraceStore& trace, const Link& link) {
    ModelFacts facts;
    layerFacts(link, facts);
    facts.parameters = parametersFromOptimizer(trace);

    std::vector<std::int64_t> projections; // of the first attention module
    const Module* first_attention = nullptr;
    for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
        const WorkLink& work = link.kernels[k];
        if (work.direction != Direction::Forward || !work.op.valid() || !work.module.valid()) continue;
        Row row;
        row.op = trace.nameOf(trace.cpu_ops.slice[work.op.index()]);
        row.module = &link.modules.at(work.module);
        if (row.module->parent.valid()) row.parent = &link.modules.at(row.module->parent);
        const bool inside_attention = row.parent != nullptr && contains(row.parent->type, "Attention");
        const bool in_mlp =
            contains(row.module->type, "MLP") || (row.parent != nullptr && contains(row.parent->type, "MLP"));
        const bool in_attention = contains(row.module->type, "Attention");
        if (row.module->type != "Embedding" && !inside_attention && !in_mlp && !in_attention) continue;
        row.args = parseOpArgs(trace, work.op);
        if (row.module->type == "Embedding" && facts.vocab < 0 && !row.args.empty()) {
            facts.vocab = dim(row, 0, 1);
            facts.hidden = dim(row, 0, 0);
        }
        if (inside_attention) {
            if (first_attention == nullptr) first_attention = row.parent;
            if (row.parent == first_attention) attentionFacts(row, projections, facts);
        }
        if (in_attention && facts.head_dim < 0 && contains(row.op, "attention")) facts.head_dim = dim(row, 0, 0);
        if (in_mlp && row.op == "aten::silu") {
            facts.mlp = "SwiGLU"; // silu inside a gated MLP: confirmed by the multiplication that follows
            facts.intermediate = dim(row, 0, 0);
        }
    }
    if (facts.head_dim > 0 && projections.size() >= 3) {
        facts.heads = projections[0] / facts.head_dim;
        facts.kv_heads = projections[1] / facts.head_dim;
        if (facts.kv_heads > 0) facts.gqa = std::to_string(facts.heads / facts.kv_heads) + ":1";
    }
    if (facts.qk_norm < 0 && first_attention != nullptr) facts.qk_norm = 0;
    return facts;
}

} // namespace fusescope
