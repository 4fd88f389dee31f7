// SPDX-License-Identifier: Apache-2.0
#include "core/region/forms.h"

#include <algorithm>

namespace fusescope::region {
namespace {

using fusion::GraphFlow;
using fusion::OpCode;

constexpr std::size_t kMostRounds = 8;

bool has(const std::vector<NodeId>& nodes, NodeId node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// The cast up of a norm.
void addCasts(const GraphFlow& graph, std::vector<NodeId>& nodes) {
    const std::vector<NodeId> own = nodes;
    for (const NodeId root : own) {
        if (graph.code(root) != OpCode::Rsqrt) continue;
        const NodeId mean = graph.maker(graph.in(graph.maker(graph.in(root, 0)), 0));
        const NodeId up = graph.maker(graph.in(graph.maker(graph.in(mean, 0)), 0));
        if (graph.code(up) == OpCode::Cast && has(own, mean) && !has(nodes, up)) nodes.push_back(up);
    }
}

// Of products of three dimensions (bmm): the views that folded batch and heads together.
void addFolds(const GraphFlow& graph, std::vector<NodeId>& nodes) {
    const std::vector<NodeId> own = nodes;
    for (const NodeId product : own) {
        if (graph.code(product) != OpCode::Matmul) continue;
        for (std::size_t i = 0; i < 2; ++i) {
            ValueId value = graph.in(product, i);
            std::vector<NodeId> folds;
            while (value.valid() && graph.meta(value).sizes.size() == 3 && folds.size() < 16) {
                const NodeId node = graph.producer(value);
                if (graph.code(node) != OpCode::View) break;
                folds.push_back(node);
                value = graph.in(node, 0);
            }
            if (!value.valid() || graph.meta(value).sizes.size() != 4) continue;
            for (const NodeId node : folds)
                if (!has(nodes, node)) nodes.push_back(node);
        }
    }
}

} // namespace

Result<Subgraph> patternPart(const GraphFlow& graph, const Instance& instance) {
    std::vector<NodeId> nodes = instance.nodes;
    if (instance.pattern == Pattern::RmsNorm || instance.pattern == Pattern::AddRmsNorm) addCasts(graph, nodes);
    if (instance.pattern == Pattern::Attention) addFolds(graph, nodes);
    for (std::size_t round = 0;; ++round) {
        Result<Subgraph> part = subgraphOf(graph, nodes, true);
        if (!part || round == kMostRounds) return part;
        // One value that enters in two shapes would be two inputs with data of their own.
        const std::vector<ValueId> inputs = inputsOf(graph, *part);
        std::vector<NodeId> more;
        for (const ValueId a : inputs)
            for (const ValueId b : inputs)
                if (a != b && graph.base(a) == graph.base(b)) (void)graph.base(a, more);
        more.erase(std::remove_if(more.begin(), more.end(), [&](NodeId node) { return part->has(node); }), more.end());
        if (more.empty()) return part;
        nodes = part->nodes;
        nodes.insert(nodes.end(), more.begin(), more.end());
    }
}

} // namespace fusescope::region
