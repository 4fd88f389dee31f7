// SPDX-License-Identifier: Apache-2.0
#include "core/link/link.h"

#include "core/link/cpu_context.h"
#include "core/link/launches.h"
#include "core/link/loss_ops.h"
#include "core/link/module_match.h"
#include "core/link/node_match.h"
#include "core/link/sequence.h"
#include "core/link/trace_modules.h"
#include "core/link/work.h"

#include <algorithm>
#include <map>

namespace fusescope {
namespace {

// Named phases need no module (design, section 5).
bool isNamed(Phase phase) { return phase != Phase::Unknown && phase != Phase::Forward && phase != Phase::Backward; }

// The modules of the trace laid over the graph's; frames and calls are renumbered into the merged tree.
void useGraphModules(const ModelGraph& graph, TraceModules& modules, Link& link) {
    std::vector<ModuleId> matched = matchModules(modules.tree, graph.modules);
    link.modules = mergeModules(modules.tree, graph.modules, matched);
    link.modules_from_graph = true;
    for (auto& [frame, module] : modules.of_frame) module = matched[module.index()];
    for (ModuleCall& call : modules.calls) call.module = matched[call.module.index()];
}

void count(const TraceStore& trace, const std::vector<std::string_view>& reasons, Link& link) {
    std::map<std::string_view, Unlinked> by_reason;
    for (std::size_t k = 0; k < trace.kernels.size(); ++k) {
        const WorkLink& work = link.kernels[k];
        const auto ns = static_cast<double>(trace.slices.dur[trace.kernels.slice[k].index()]);
        link.kernel_ns += ns;
        if (work.op.valid()) link.op_ns += ns;
        if (work.module.valid() || isNamed(work.phase)) link.module_ns += ns;
        if (work.node.valid()) link.graph_ns += ns;
        if (reasons[k].empty()) continue;
        Unlinked& row = by_reason[reasons[k]];
        row.time_ns += ns;
        ++row.kernels;
    }
    for (auto& [reason, row] : by_reason) {
        row.reason = reason;
        link.unlinked.push_back(std::move(row));
    }
    std::stable_sort(link.unlinked.begin(), link.unlinked.end(),
                     [](const Unlinked& a, const Unlinked& b) { return a.time_ns > b.time_ns; });
}

void indexNodes(const ModelGraph& graph, Link& link) {
    link.node_start.assign(graph.ops.nodes.size() + 1, 0);
    for (const WorkLink& work : link.kernels)
        if (work.node.valid()) ++link.node_start[work.node.index() + 1];
    for (std::size_t n = 1; n < link.node_start.size(); ++n) link.node_start[n] += link.node_start[n - 1];
    link.node_kernels.resize(link.node_start.back());
    std::vector<std::uint32_t> next(link.node_start.begin(), link.node_start.end() - 1);
    for (std::size_t k = 0; k < link.kernels.size(); ++k)
        if (link.kernels[k].node.valid()) link.node_kernels[next[link.kernels[k].node.index()]++] = KernelId(k);
}

} // namespace

Link linkTrace(const TraceStore& trace, const ModelGraph* graph, Progress& progress) {
    Link link;
    progress.begin("linking kernels to operators", trace.slices.size());
    const CpuContexts contexts = cpuContexts(trace, progress);
    TraceModules modules = traceModules(trace, contexts);
    if (graph != nullptr)
        useGraphModules(*graph, modules, link);
    else
        link.modules = std::move(modules.tree);

    const Launches launches(trace);
    const std::vector<CpuOpId> forward_ops = forwardOps(trace, contexts);
    const std::vector<bool> loss_ops = lossOps(trace, contexts);
    NodeMatch nodes;
    std::vector<bool> rope_nodes;
    if (graph != nullptr) {
        nodes = matchNodes(trace, contexts, *graph, modules.of_frame);
        rope_nodes = ropeNodes(*graph);
    }

    WorkTables tables{trace,        contexts, launches, forward_ops, loss_ops, modules.of_frame,
                      link.modules, nullptr,  nullptr,  {}};
    if (graph != nullptr) {
        tables.nodes = &nodes;
        tables.rope_nodes = &rope_nodes;
    }
    findAttentionStarts(tables);

    link.kernels.resize(trace.kernels.size());
    link.copies.resize(trace.copies.size());
    std::vector<std::string_view> reasons(trace.kernels.size());
    for (std::size_t k = 0; k < trace.kernels.size(); ++k)
        reasons[k] = linkWork(tables, trace.kernels.slice[k], link.kernels[k]);
    for (std::size_t c = 0; c < trace.copies.size(); ++c) (void)linkWork(tables, trace.copies.slice[c], link.copies[c]);

    count(trace, reasons, link);
    if (graph != nullptr) indexNodes(*graph, link);
    link.calls = std::move(modules.calls);
    return link;
}

} // namespace fusescope
