// SPDX-License-Identifier: Apache-2.0
// Edges of the visible graph, and the boxes at its border: what comes into the focused module and what leaves it.
#include "core/graph/plumbing.h"
#include "core/graph/visible_build.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace fusescope {
namespace {

constexpr std::size_t kMaxBorderBoxes = 24; // of each kind; a KV cache has 72 outputs

class Edges {
public:
    explicit Edges(VisibleBuild& build) : b_(build), inner_(build.out.nodes.size()) {}

    void make() {
        for (std::size_t n = 0; n < b_.ops.nodes.size(); ++n) {
            const std::int32_t to = b_.out.node_of[n];
            if (b_.fate[n] != Fate::Shown || to < 0) continue;
            for (const GraphArg& arg : b_.ops.argsOf(NodeId(n)))
                for (const ValueId value : b_.ops.valuesOf(arg)) connect(value, to);
        }
        makeOutputs();
        sortBoxes();
        label();
    }

private:
    void connect(ValueId value, std::int32_t to) {
        const std::int32_t from = sourceOf(value);
        if (from >= 0 && from != to) add(from, to, value);
    }

    void add(std::int32_t from, std::int32_t to, ValueId value) {
        const std::uint64_t key = (static_cast<std::uint64_t>(from) << 32) | static_cast<std::uint32_t>(to);
        const auto [at, fresh] = by_ends_.emplace(key, b_.out.edges.size());
        if (fresh) {
            b_.out.edges.push_back({static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to), value, {}});
            values_.emplace_back();
        }
        // Between two groups of thousands of operators run thousands of values.
        if (seen_.emplace(at->second, value).second) values_[at->second].push_back(value);
    }

    // The box a value comes out of; -1 for weights, constants and sizes.
    std::int32_t sourceOf(ValueId value) {
        const ValueId root = b_.rootOf(value);
        const Value& from = b_.ops.at(root);
        if (from.kind == ValueKind::Symbol) return -1;
        if (from.producer.valid() && b_.fate[from.producer.index()] != Fate::Outside)
            return b_.out.node_of[from.producer.index()];
        if (!from.producer.valid() && from.kind != ValueKind::Input) return -1;
        return inputBox(root);
    }

    std::int32_t inputBox(ValueId value) {
        const Value& from = b_.ops.at(value);
        // Several values of one neighbour (cos and sin of the rotary embedding) share a box.
        const std::string title =
            from.producer.valid() ? neighbourTitle(b_, from.producer) : std::string(b_.ops.strings.view(from.name));
        return border(VisibleKind::Input, inputs_, title, value);
    }

    std::int32_t border(VisibleKind kind, std::unordered_map<std::string, std::int32_t>& boxes, std::string title,
                        ValueId value) {
        if (boxes.size() >= kMaxBorderBoxes && boxes.find(title) == boxes.end()) title = "more";
        const auto found = boxes.find(title);
        if (found != boxes.end()) return found->second;
        VisibleNode box;
        box.kind = kind;
        box.value = value;
        box.title = title;
        if (title != "more") box.subtitle = shapeText(b_.ops.at(value).meta, b_.main_dtype);
        b_.out.nodes.push_back(std::move(box));
        const auto index = static_cast<std::int32_t>(b_.out.nodes.size() - 1);
        boxes.emplace(std::move(title), index);
        return index;
    }

    void makeOutputs() {
        const bool whole = !b_.tree.at(b_.focus).parent.valid();
        for (std::size_t v = 0; v < b_.ops.values.size(); ++v) {
            const Value& value = b_.ops.values[v];
            // Of a layer that others follow in its fold, nothing leaves but what the last one hands on.
            if (!value.producer.valid() || b_.fate[value.producer.index()] == Fate::Outside) continue;
            if (value.kind == ValueKind::Symbol) continue;
            std::string title;
            if (value.is_graph_output)
                title = "output";
            else if (!whole)
                for (const NodeId user : b_.ops.consumersOf(ValueId(v)))
                    if (b_.fate[user.index()] == Fate::Outside) {
                        title = "to " + neighbourTitle(b_, user);
                        break;
                    }
            if (title.empty()) continue;
            const std::int32_t from = sourceOf(b_.represented(ValueId(v)));
            if (from < 0 || b_.out.nodes[static_cast<std::size_t>(from)].kind == VisibleKind::Input) continue;
            add(from, border(VisibleKind::Output, outputs_, std::move(title), ValueId(v)), ValueId(v));
        }
    }

    // Bookkeeping that nothing shown needs is not worth a box. Inputs come first and outputs last: the order of
    // execution.
    void sortBoxes() {
        VisibleGraph& out = b_.out;
        std::vector<bool> tied(out.nodes.size(), false);
        for (const VisibleEdge& edge : out.edges) tied[edge.from] = tied[edge.to] = true;
        std::vector<std::int32_t> moved(out.nodes.size(), -1);
        std::vector<VisibleNode> kept;
        std::vector<std::size_t> order;
        for (const VisibleKind kind : {VisibleKind::Input, VisibleKind::Op, VisibleKind::Output})
            for (std::size_t i = 0; i < out.nodes.size(); ++i) {
                const VisibleKind is = out.nodes[i].kind;
                if ((is == VisibleKind::Module ? VisibleKind::Op : is) == kind) order.push_back(i);
            }
        for (const std::size_t i : order) {
            const bool loner = !tied[i] && i < inner_ && out.nodes[i].kind == VisibleKind::Op &&
                               b_.state.hide_plumbing && b_.fixed[out.nodes[i].node.index()] &&
                               !b_.fixed_module[out.nodes[i].module.index()];
            if (loner) continue;
            moved[i] = static_cast<std::int32_t>(kept.size());
            kept.push_back(std::move(out.nodes[i]));
        }
        out.nodes = std::move(kept);
        for (VisibleEdge& edge : out.edges) {
            edge.from = static_cast<std::uint32_t>(moved[edge.from]);
            edge.to = static_cast<std::uint32_t>(moved[edge.to]);
        }
        for (std::int32_t& box : out.node_of)
            if (box >= 0) box = moved[static_cast<std::size_t>(box)];
    }

    void label() {
        for (std::size_t e = 0; e < b_.out.edges.size(); ++e) {
            const std::vector<ValueId>& values = values_[e];
            std::string& text = b_.out.edges[e].label;
            text = shapeText(b_.ops.at(values.front()).meta, b_.main_dtype);
            const bool alike = std::all_of(values.begin(), values.end(), [&](ValueId v) {
                return shapeText(b_.ops.at(v).meta, b_.main_dtype) == text;
            });
            if (values.size() == 1 || text.empty()) continue;
            if (alike)
                text = std::to_string(values.size()) + " × " + text;
            else
                text.append(" + ").append(std::to_string(values.size() - 1)).append(" more");
        }
    }

    VisibleBuild& b_;
    std::size_t inner_; // boxes that are no border
    std::unordered_map<std::uint64_t, std::size_t> by_ends_;
    std::vector<std::vector<ValueId>> values_; // per edge
    struct SeenHash {
        std::size_t operator()(const std::pair<std::size_t, ValueId>& key) const noexcept {
            return (key.first * 0x9E3779B97F4A7C15ULL) ^ key.second.value;
        }
    };
    std::unordered_set<std::pair<std::size_t, ValueId>, SeenHash> seen_; // edge and value
    std::unordered_map<std::string, std::int32_t> inputs_, outputs_;
};

} // namespace

ValueId VisibleBuild::represented(ValueId id) const {
    const Value& value = ops.at(id);
    if (!value.producer.valid()) return id;
    const NodeId twin = representative[value.producer.index()];
    if (twin == value.producer) return id;
    const ValueId other = ops.output(twin, value.output);
    return other.valid() ? other : id;
}

ValueId VisibleBuild::rootOf(ValueId id) const {
    // Operands are made before their users and twins stand before what they represent: the walk only goes back.
    while (true) {
        id = represented(id);
        const NodeId producer = ops.at(id).producer;
        if (!producer.valid()) return id;
        const bool through =
            fate[producer.index()] == Fate::Through ||
            (fate[producer.index()] == Fate::Outside && state.hide_plumbing && isDrawnThrough(ops, producer));
        if (!through) return id;
        const ValueId operand = ops.operand(producer, 0);
        if (!operand.valid()) return id;
        id = operand;
    }
}

void VisibleBuild::makeEdges() { Edges(*this).make(); }

} // namespace fusescope
