// SPDX-License-Identifier: Apache-2.0
#include "core/analysis/tables.h"

#include <unordered_map>

namespace fusescope {
namespace {

std::string shapeText(const TensorMeta& meta) {
    std::string text;
    for (const std::int64_t size : meta.sizes) {
        if (!text.empty()) text += 'x';
        text += size == kDynamicSize ? "?" : std::to_string(size);
    }
    return text;
}

// What the module hands out: the last value made inside that somebody outside (or the graph's caller) uses.
void fillOutputShapes(const ModelGraph& graph, std::vector<ModuleStats>& stats) {
    const OpGraph& ops = graph.ops;
    for (std::size_t v = 0; v < ops.values.size(); ++v) {
        const Value& value = ops.values[v];
        if (!value.producer.valid() || value.meta.sizes.empty()) continue;
        for (ModuleId m = ops.at(value.producer).module; m.valid() && m.index() < stats.size();
             m = graph.modules.at(m).parent) {
            bool leaves = value.is_graph_output;
            for (const NodeId user : ops.consumersOf(ValueId(v)))
                leaves = leaves || !graph.modules.contains(m, ops.at(user).module);
            if (!leaves) break; // used inside m only, so inside every ancestor too
            stats[m.index()].output_shape = shapeText(value.meta);
        }
    }
}

} // namespace

void fillModuleStats(Analysis& analysis) {
    const ModuleTree& tree = analysis.link.modules;
    std::vector<ModuleStats> stats(tree.modules.size());
    for (std::size_t m = 0; m < stats.size(); ++m) stats[m].parameters = tree.parameterCount(ModuleId(m));

    if (analysis.graph) {
        const OpGraph& ops = analysis.graph->ops;
        for (std::size_t n = 0; n < ops.nodes.size(); ++n) {
            const ModuleId module = ops.nodes[n].module;
            if (module.valid() && module.index() < stats.size())
                stats[module.index()].flops += costOfNode(ops, NodeId(n)).flops;
        }
        fillOutputShapes(*analysis.graph, stats);
    }
    double kernel_ns = 0;
    if (analysis.trace) {
        for (std::size_t k = 0; k < analysis.trace->kernels.size(); ++k) {
            if (!inAnalysedSteps(analysis, KernelId(k))) continue;
            const WorkLink& link = analysis.link.kernels[k];
            const auto ns = static_cast<double>(analysis.trace->slices.dur[analysis.trace->kernels.slice[k].index()]);
            kernel_ns += ns;
            if (!link.module.valid()) continue;
            ModuleStats& module = stats[link.module.index()];
            (link.direction == Direction::Backward ? module.backward_ns : module.forward_ns) += ns;
            if (!analysis.graph && link.direction == Direction::Forward) module.flops += analysis.kernel_costs[k].flops;
        }
    }
    // Parents stand before children: adding from the back makes every figure inclusive.
    for (std::size_t m = stats.size(); m-- > 0;) {
        const ModuleId parent = tree.modules[m].parent;
        if (parent.valid()) {
            stats[parent.index()].flops += stats[m].flops;
            stats[parent.index()].forward_ns += stats[m].forward_ns;
            stats[parent.index()].backward_ns += stats[m].backward_ns;
        }
        stats[m].share = kernel_ns > 0 ? (stats[m].forward_ns + stats[m].backward_ns) / kernel_ns : 0;
    }
    analysis.modules = std::move(stats);
}

} // namespace fusescope
