// SPDX-License-Identifier: Apache-2.0
#include "core/graph/module_text.h"

#include <algorithm>

namespace fusescope {
namespace {

bool endsWith(std::string_view text, std::string_view suffix) {
    return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string number(std::int64_t n) { return n == kDynamicSize ? std::string("?") : std::to_string(n); }

// "(4096,)", "(2, 3)"
std::string tuple(const std::vector<std::int64_t>& sizes) {
    std::string text = "(";
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + number(sizes[i]);
    return text + (sizes.size() == 1 ? ",)" : ")");
}

std::string product(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? "x" : "") + number(sizes[i]);
    return text;
}

const TensorMeta* parameterNamed(const ModuleTree& tree, const Module& module, std::string_view name) {
    for (const std::uint32_t index : module.parameters) {
        const std::string_view full = tree.parameters[index].name;
        if (full == name || endsWith(full, std::string(".").append(name))) return &tree.parameters[index].meta;
    }
    return nullptr;
}

} // namespace

ModuleTexts::ModuleTexts(const ModelGraph& graph) : graph_(graph), nodes_(graph.modules.modules.size()) {
    for (std::size_t n = 0; n < graph.ops.nodes.size(); ++n)
        nodes_[graph.ops.nodes[n].module.index()].push_back(NodeId(n));
}

ModuleText ModuleTexts::of(ModuleId id) const {
    const OpGraph& ops = graph_.ops;
    const Module& module = graph_.modules.at(id);
    const std::vector<NodeId>& nodes = nodes_[id.index()];
    const std::string_view type = module.type;
    const TensorMeta* weight = parameterNamed(graph_.modules, module, "weight");
    const auto findOp = [&](std::initializer_list<std::string_view> names) {
        for (const NodeId node : nodes)
            if (std::find(names.begin(), names.end(), ops.op(node)) != names.end()) return node;
        return NodeId{};
    };

    ModuleText text;
    if (endsWith(type, "Linear") && weight && weight->sizes.size() == 2) {
        const std::string in = number(weight->sizes[1]), out = number(weight->sizes[0]);
        const bool bias = parameterNamed(graph_.modules, module, "bias") != nullptr;
        text.print = "in_features=" + in + ", out_features=" + out + ", bias=" + (bias ? "True" : "False");
        text.brief = in + " → " + out;
    } else if (type == "Embedding" && weight && weight->sizes.size() == 2) {
        text.print = number(weight->sizes[0]) + ", " + number(weight->sizes[1]);
        text.brief = number(weight->sizes[0]) + " → " + number(weight->sizes[1]);
        if (const NodeId node = findOp({"aten::embedding"}); node.valid()) {
            const std::string_view padding = ops.argText(node, "padding_idx");
            if (!padding.empty() && padding.front() != '-') text.print.append(", padding_idx=").append(padding);
        }
    } else if (endsWith(type, "Norm") && weight) {
        text.print = tuple(weight->sizes);
        text.brief = product(weight->sizes);
        // Written out, the norm adds eps to the mean square just before rsqrt; the fused operators take it as an
        // argument.
        std::string_view eps;
        if (const NodeId root = findOp({"aten::rsqrt"}); root.valid()) {
            const ValueId sum = ops.operand(root, 0);
            const NodeId add = sum.valid() ? ops.at(sum).producer : NodeId{};
            if (add.valid() && ops.op(add) == "aten::add") eps = ops.argText(add, "other");
        } else if (const NodeId fused = findOp(
                       {"aten::rms_norm", "aten::_fused_rms_norm", "aten::layer_norm", "aten::native_layer_norm"});
                   fused.valid()) {
            eps = ops.argText(fused, "eps");
        }
        if (!eps.empty()) text.print.append(", eps=").append(eps);
        // torch's own classes tell this, too
        if (type == "RMSNorm" || type == "LayerNorm") text.print += ", elementwise_affine=True";
    } else if (type == "Dropout") {
        if (const NodeId node = findOp({"aten::dropout", "aten::native_dropout"}); node.valid())
            text.print.append("p=").append(ops.argText(node, "p")).append(", inplace=False");
    }
    return text;
}

} // namespace fusescope
