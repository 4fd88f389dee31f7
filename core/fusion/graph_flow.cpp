// SPDX-License-Identifier: Apache-2.0
#include "core/fusion/graph_flow.h"

#include <algorithm>
#include <charconv>

namespace fusescope::fusion {
namespace {

// Bounds for hostile graphs: real values have a handful of users and are viewed a handful of times.
constexpr std::size_t kMostUsers = 256, kMostViews = 1024;

bool isTrue(std::string_view text) { return text == "True" || text == "true" || text == "1"; }

OpCode codeOfNode(const OpGraph& ops, NodeId node) {
    const OpCode code = opCodeOf(ops.op(node));
    if (code == OpCode::Cast) {
        const ValueId in = ops.operand(node, 0), out = ops.output(node);
        if (in.valid() && out.valid() && ops.at(in).meta.dtype != DType::Unknown &&
            ops.at(in).meta.dtype == ops.at(out).meta.dtype)
            return OpCode::View;
    }
    if (code == OpCode::Dropout) {
        const std::optional<double> p = numberIn(ops.argText(node, "p"));
        const std::string_view train = ops.argText(node, "train");
        if ((p && *p == 0) || (!train.empty() && !isTrue(train))) return OpCode::View;
    }
    return code;
}

} // namespace

double elements(const TensorMeta& meta) noexcept { return static_cast<double>(meta.numel()); }

bool sameSizes(const TensorMeta& a, const TensorMeta& b) noexcept { return a.sizes == b.sizes; }

double lastSize(const TensorMeta& meta) noexcept {
    return meta.sizes.empty() || meta.sizes.back() < 0 ? 0 : static_cast<double>(meta.sizes.back());
}

std::optional<double> numberIn(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == '[' || text.front() == ' ' || text.front() == '"')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ']' || text.back() == ' ' || text.back() == '"')) text.remove_suffix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

void sortNodes(std::vector<NodeId>& nodes) {
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

GraphFlow::GraphFlow(const ModelGraph& graph) : graph_(graph) {
    codes_.reserve(graph.ops.nodes.size());
    for (std::size_t i = 0; i < graph.ops.nodes.size(); ++i) codes_.push_back(codeOfNode(graph.ops, NodeId(i)));
    bases_.reserve(graph.ops.values.size());
    for (std::size_t v = 0; v < graph.ops.values.size(); ++v) bases_.emplace_back(v);
    // Nodes are in execution order, so what a view looks at is known before the view.
    for (std::size_t i = 0; i < graph.ops.nodes.size(); ++i) {
        const ValueId from = in(NodeId(i), 0), to = out(NodeId(i));
        if (codes_[i] == OpCode::View && from.valid() && to.valid()) bases_[to.index()] = bases_[from.index()];
    }
}

NodeId GraphFlow::producer(ValueId value) const { return value.valid() ? graph_.ops.at(value).producer : NodeId{}; }

ValueId GraphFlow::base(ValueId value) const { return value.valid() ? bases_[value.index()] : value; }

ValueId GraphFlow::base(ValueId value, std::vector<NodeId>& passed) const {
    const ValueId end = base(value);
    while (value.valid() && value != end && passed.size() < kMostViews) {
        const NodeId node = producer(value);
        passed.push_back(node);
        value = in(node, 0);
    }
    return end;
}

std::vector<NodeId> GraphFlow::consumersOnce(ValueId value) const {
    const auto all = graph_.ops.consumersOf(value); // a node appears once per use
    std::vector<NodeId> once(all.begin(), all.size() <= kMostUsers ? all.end() : all.begin() + kMostUsers);
    sortNodes(once);
    return once;
}

std::vector<NodeId> GraphFlow::users(ValueId value) const {
    std::vector<NodeId> found;
    std::vector<ValueId> open{value};
    while (!open.empty() && found.size() < kMostUsers) {
        const ValueId v = open.back();
        open.pop_back();
        if (!v.valid()) continue;
        for (const NodeId user : consumersOnce(v)) {
            if (code(user) == OpCode::Ignored) continue;
            if (code(user) != OpCode::View)
                found.push_back(user);
            else if (in(user, 0) == v)
                open.push_back(out(user)); // else only its shape is taken (view_as)
        }
    }
    sortNodes(found);
    return found;
}

NodeId GraphFlow::onlyUser(ValueId value) const {
    const std::vector<NodeId> all = users(value);
    return all.size() == 1 ? all.front() : NodeId{};
}

bool GraphFlow::leavesGraph(ValueId value) const {
    std::vector<ValueId> open{value};
    for (std::size_t seen = 0; !open.empty() && seen < kMostViews; ++seen) {
        const ValueId v = open.back();
        open.pop_back();
        if (!v.valid()) continue;
        if (graph_.ops.at(v).is_graph_output) return true;
        for (const NodeId user : consumersOnce(v))
            if (code(user) == OpCode::View && in(user, 0) == v) open.push_back(out(user));
    }
    return false;
}

std::optional<double> GraphFlow::scalar(NodeId node, std::string_view argument) const {
    if (const auto named = numberIn(graph_.ops.argText(node, argument))) return named;
    for (const GraphArg& arg : graph_.ops.argsOf(node)) {
        if (arg.kind != ArgKind::Scalar && arg.kind != ArgKind::ScalarList) continue;
        const std::string_view name = graph_.ops.strings.view(arg.name);
        if (!name.empty() && name != argument) continue; // another argument
        if (const auto value = numberIn(graph_.ops.strings.view(arg.text))) return value;
    }
    return std::nullopt;
}

bool GraphFlow::isWeight(ValueId value) const {
    for (int guard = 0; value.valid() && guard < 16; ++guard) {
        value = base(value);
        const NodeId node = producer(value);
        if (!node.valid()) {
            const ValueKind kind = graph_.ops.at(value).kind;
            return kind == ValueKind::Parameter || kind == ValueKind::Buffer || kind == ValueKind::Constant;
        }
        if (code(node) != OpCode::Cast) return false;
        value = in(node, 0);
    }
    return false;
}

std::string GraphFlow::leak(const std::vector<NodeId>& inner, const std::vector<NodeId>& all) const {
    for (const NodeId node : inner) {
        const ValueId result = out(node);
        if (!result.valid()) continue;
        if (leavesGraph(result)) return name(node) + " is an output of the graph";
        for (const NodeId user : users(result))
            if (std::find(all.begin(), all.end(), user) == all.end())
                return name(node) + " is also used by " + name(user);
    }
    return {};
}

} // namespace fusescope::fusion
