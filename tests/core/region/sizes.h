// SPDX-License-Identifier: Apache-2.0
// Small sizes for each pattern, as a trace would tell them.
#pragma once

#include "core/analysis/analysis.h"

namespace fusescope::test {

inline Geometry smallSizes(Pattern pattern) {
    Geometry s;
    s.dtype = DType::BFloat16;
    switch (pattern) {
    case Pattern::Attention:
    case Pattern::Rope:
    case Pattern::QkNormRope:
        s.batch = 2;
        s.heads = 4;
        s.kv_heads = 2;
        s.q_len = s.kv_len = 12;
        s.head_dim = 16;
        s.eps = 1e-6;
        break;
    case Pattern::QkvProjection:
        s.sizes = {1, 12, 24};
        s.rows = 12;
        s.hidden = 24;
        s.width = 64;
        s.kv_width = 16;
        break;
    case Pattern::LinearCrossEntropy:
        s.sizes = {1, 12, 24};
        s.rows = 12;
        s.hidden = 24;
        s.width = 2048;
        break;
    default:
        s.sizes = {1, 12, 64};
        s.rows = 12;
        s.width = 64;
        s.eps = 1e-5;
    }
    return s;
}

// A finding of a trace without a graph.
inline Finding findingOf(Pattern pattern, Geometry sizes) {
    Finding finding;
    finding.id = std::string(idOf(pattern));
    finding.pattern = pattern;
    Instance instance;
    instance.pattern = pattern;
    instance.from_trace = true;
    instance.geometry = std::move(sizes);
    finding.instances.push_back(std::move(instance));
    return finding;
}

// The norms of q and k and the rotation after them, put together by hand: no matcher looks for them as one.
inline Finding qkNormRope(const Analysis& analysis) {
    Finding finding = findingOf(Pattern::QkNormRope, {});
    std::vector<NodeId>& nodes = finding.instances[0].nodes;
    finding.instances[0].from_graph = true;
    for (const Finding& rope : analysis.findings)
        if (rope.pattern == Pattern::Rope && !rope.instances.empty()) nodes = rope.instances[0].nodes;
    if (nodes.empty()) return finding;
    const ModuleTree& modules = analysis.graph->modules;
    const ModuleId attention = analysis.graph->ops.at(nodes[0]).module;
    for (const Finding& norms : analysis.findings)
        for (const Instance& norm : norms.instances)
            if (norms.pattern == Pattern::RmsNorm && !norm.nodes.empty() &&
                modules.contains(attention, analysis.graph->ops.at(norm.nodes[0]).module))
                nodes.insert(nodes.end(), norm.nodes.begin(), norm.nodes.end());
    return finding;
}

} // namespace fusescope::test
