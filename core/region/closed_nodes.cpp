// SPDX-License-Identifier: Apache-2.0
#include "core/region/closed_nodes.h"

#include <algorithm>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

constexpr std::size_t kMostAdded = 8;
constexpr int kMostDepth = 1024; // of modules

bool computes(const GraphFlow& graph, NodeId node) {
    return graph.code(node) != OpCode::View && graph.code(node) != OpCode::Ignored;
}

template <class One> void eachMaker(const GraphFlow& graph, NodeId node, One one) {
    for (const GraphArg& arg : graph.ops().argsOf(node))
        for (const ValueId value : graph.ops().valuesOf(arg))
            if (const NodeId maker = graph.producer(value); maker.valid()) one(maker);
}

} // namespace

std::vector<NodeId> computingNodes(const GraphFlow& graph, std::span<const NodeId> nodes) {
    std::vector<NodeId> out;
    for (const NodeId node : nodes)
        if (node.valid() && node.index() < graph.size() && computes(graph, node)) out.push_back(node);
    fusion::sortNodes(out);
    return out;
}

Result<ClosedNodes> closedNodes(const GraphFlow& graph, std::span<const NodeId> nodes) {
    const std::size_t size = graph.size();
    std::vector<bool> in(size, false), behind(size, false), ahead(size, false);
    for (const NodeId node : nodes)
        if (node.valid() && node.index() < size) in[node.index()] = true;
    // Checks (asserts, sizes) lie on no way: nothing that a region computes goes through them.
    const auto counts = [&](std::size_t i) { return in[i] || graph.code(NodeId(i)) != OpCode::Ignored; };
    for (std::size_t i = 0; i < size; ++i)
        if (counts(i))
            eachMaker(graph, NodeId(i), [&](NodeId maker) {
                if (in[maker.index()] || behind[maker.index()]) behind[i] = true;
            });
    for (std::size_t i = size; i-- > 0;)
        if (counts(i) && (in[i] || ahead[i]))
            eachMaker(graph, NodeId(i), [&](NodeId maker) { ahead[maker.index()] = true; });
    ClosedNodes out;
    NodeId leaves, back;
    for (std::size_t i = 0; i < size; ++i) {
        const NodeId node(i);
        const bool between = !in[i] && behind[i] && ahead[i] && counts(i);
        if (in[i] || between) out.nodes.push_back(node);
        if (between && computes(graph, node)) {
            out.added.push_back(node);
            if (!leaves.valid()) leaves = node;
        }
        if (in[i] && leaves.valid() && !back.valid())
            eachMaker(graph, node, [&](NodeId maker) {
                if (!in[maker.index()] && behind[maker.index()]) back = node;
            });
    }
    if (out.added.size() <= kMostAdded) return out;
    std::string value = "a value";
    eachMaker(graph, leaves, [&](NodeId maker) {
        if (in[maker.index()] || (behind[maker.index()] && value == "a value")) value = "%" + graph.name(maker);
    });
    return Error{ErrorCode::Unsupported,
                 "nodes that enclose their flow, or a gap of at most " + std::to_string(kMostAdded) + " nodes",
                 value + ", which leaves to " + graph.name(leaves) + " and comes back at " + graph.name(back) +
                     " through " + std::to_string(out.added.size()) + " nodes outside",
                 graph.name(back)};
}

ModuleId moduleAround(const ModelGraph& model, std::span<const NodeId> nodes) {
    if (nodes.empty()) return {};
    ModuleId module = model.ops.at(nodes.front()).module;
    for (const NodeId node : nodes)
        for (int guard = 0; module.valid() && guard < kMostDepth; ++guard) {
            if (model.modules.contains(module, model.ops.at(node).module)) break;
            module = model.modules.at(module).parent;
        }
    return module;
}

std::vector<std::vector<NodeId>> repeatsOf(const ModelGraph& model, const std::vector<NodeId>& nodes) {
    std::vector<std::vector<NodeId>> all{nodes};
    const ModuleTree& tree = model.modules;
    ModuleId module = moduleAround(model, nodes);
    for (int guard = 0; module.valid() && guard < kMostDepth; ++guard, module = tree.at(module).parent) {
        const std::uint32_t group = tree.at(module).fold_group;
        if (group >= tree.folds.size()) continue;
        // A node's place among its layer's nodes is that of its twin among the other layer's.
        const std::vector<ModuleId>& members = tree.folds[group].members;
        std::vector<std::vector<NodeId>> inside(members.size());
        std::size_t own = members.size();
        for (std::size_t m = 0; m < members.size(); ++m) {
            if (members[m] == module) own = m;
            for (std::size_t n = 0; n < model.ops.nodes.size(); ++n)
                if (tree.contains(members[m], model.ops.nodes[n].module)) inside[m].emplace_back(n);
        }
        if (own == members.size()) continue;
        std::vector<std::vector<NodeId>> more;
        for (std::size_t m = 0; m < members.size(); ++m) {
            if (m == own || inside[m].size() != inside[own].size()) continue;
            for (const std::vector<NodeId>& one : all) {
                std::vector<NodeId> twin;
                for (const NodeId node : one) {
                    const auto at = std::lower_bound(inside[own].begin(), inside[own].end(), node);
                    if (at != inside[own].end() && *at == node)
                        twin.push_back(inside[m][static_cast<std::size_t>(at - inside[own].begin())]);
                }
                if (twin.size() == one.size()) more.push_back(std::move(twin));
            }
        }
        all.insert(all.end(), more.begin(), more.end());
    }
    return all;
}

} // namespace fusescope::region
