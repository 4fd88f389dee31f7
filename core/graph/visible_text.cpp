// SPDX-License-Identifier: Apache-2.0
#include "core/graph/module_path.h"
#include "core/graph/visible_build.h"

#include <charconv>

namespace fusescope {
namespace {

constexpr std::size_t kMaxSubtitle = 28;

// "0.08838834764831845" -> "0.0884": a box has no room for sixteen digits.
std::string shortNumber(std::string_view text) {
    if (text.size() <= 8) return std::string(text);
    double number = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::string(text);
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::general, 3);
    return std::string(buffer, end.ptr);
}

bool isCast(std::string_view op) { return op == "aten::to" || op == "aten::_to_copy" || op == "aten::type_as"; }

} // namespace

std::string shapeText(const TensorMeta& meta, DType main_dtype) {
    std::string text;
    for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
        if (i) text += 'x';
        text += meta.sizes[i] == kDynamicSize ? std::string("?") : std::to_string(meta.sizes[i]);
    }
    if (meta.sizes.empty()) text = meta.dtype == DType::Unknown ? "" : "scalar";
    if (meta.dtype != main_dtype && meta.dtype != DType::Unknown) {
        if (!text.empty()) text += ' ';
        text += shortName(meta.dtype);
    }
    return text;
}

std::string moduleTitle(const ModuleTree& tree, ModuleId id, bool folded) {
    const Module& module = tree.at(id);
    if (!module.parent.valid()) return module.type.empty() ? "model" : module.type;
    if (layerNumber(module.name) < 0) return module.name;
    // "0" alone says nothing: "layers 0", "layers 0–35".
    std::string title = tree.at(module.parent).name;
    title += title.empty() ? "" : " ";
    title += module.name;
    if (folded && module.fold_group < tree.folds.size())
        title.append("–").append(tree.at(tree.folds[module.fold_group].members.back()).name);
    return title;
}

std::string operatorTitle(const OpGraph& ops, NodeId node) {
    std::string_view op = ops.op(node);
    if (op.substr(0, 6) == "aten::") op.remove_prefix(6);
    if (op == "scaled_dot_product_attention") return "sdpa"; // as everyone calls it
    if (const ValueId out = ops.output(node); isCast(ops.op(node)) && out.valid())
        return std::string("to ").append(shortName(ops.at(out).meta.dtype));
    return std::string(op);
}

std::string operatorSubtitle(const ModelGraph& graph, NodeId node) {
    const OpGraph& ops = graph.ops;
    std::string text;
    const auto add = [&](std::string_view part) {
        if (part.empty()) return;
        if (!text.empty()) text += ", ";
        text += part;
    };
    if (isCast(ops.op(node))) return text; // the title says it
    if (ops.op(node) == "aten::scaled_dot_product_attention") add("scaled dot product attention");
    std::size_t scalars = 0;
    for (const GraphArg& arg : ops.argsOf(node)) {
        for (const ValueId value : ops.valuesOf(arg)) {
            const std::uint32_t parameter = ops.at(value).parameter;
            if (parameter < graph.modules.parameters.size())
                add(lastComponent(graph.modules.parameters[parameter].name));
        }
        const bool scalar = arg.kind == ArgKind::Scalar || (arg.kind == ArgKind::ScalarList && arg.values == 0);
        if (!scalar || arg.keyword || arg.values > 0 || scalars == 2) continue;
        const std::string_view name = ops.strings.view(arg.name), value = ops.strings.view(arg.text);
        if (value == "True" || value == "False") continue;
        ++scalars;
        std::string_view shown = value;
        if (shown.size() > 2 && shown.front() == '[' &&
            shown.find(',') == std::string_view::npos) // "[-1]": one dimension
            shown = shown.substr(1, shown.size() - 2);
        add(name == "dim" ? "dim " + shortNumber(shown) : shortNumber(shown));
    }
    if (text.size() > kMaxSubtitle) {
        text.resize(kMaxSubtitle - 3);
        // Not in the middle of a character.
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0x80u)) text.pop_back();
        text += "...";
    }
    return text;
}

std::string neighbourTitle(const VisibleBuild& build, NodeId node) {
    const ModuleTree& tree = build.tree;
    // The module just below the nearest common ancestor of the node and the focus.
    ModuleId below, at = build.ops.at(node).module;
    while (at.valid() && !tree.contains(at, build.focus)) {
        below = at;
        at = tree.at(at).parent;
    }
    if (below.valid()) {
        // A container says less than what lies in it.
        std::string title = moduleTitle(tree, below, false);
        if (tree.at(below).type == "ModuleList") {
            ModuleId inner = build.ops.at(node).module;
            while (tree.at(inner).parent.valid() && tree.at(inner).parent != below) inner = tree.at(inner).parent;
            title = moduleTitle(tree, inner, false);
        }
        return title;
    }
    if (build.fixed[node.index()]) return "mask and positions";
    return operatorTitle(build.ops, node);
}

} // namespace fusescope
