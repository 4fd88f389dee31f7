// SPDX-License-Identifier: Apache-2.0
// One piece of GPU work: module, graph node, direction, phase and kind, from the tables made before. Private to
// core/link.
#pragma once

#include "core/link/cpu_context.h"
#include "core/link/launches.h"
#include "core/link/link.h"
#include "core/link/node_match.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope {

struct WorkTables {
    const TraceStore& trace;
    const CpuContexts& contexts;
    const Launches& launches;
    const std::vector<CpuOpId>& forward_ops;
    const std::vector<bool>& loss_ops;
    const std::unordered_map<std::uint32_t, ModuleId>& frames; // into modules
    const ModuleTree& modules;
    const NodeMatch* nodes = nullptr; // with a graph
    const std::vector<bool>* rope_nodes = nullptr;
    // Per frame of an attention module: when its first attention product starts; what comes before is RoPE.
    std::unordered_map<std::uint32_t, std::int64_t> attention_starts;
};

// Fills WorkTables::attention_starts.
void findAttentionStarts(WorkTables& tables);
// Per graph node: elementwise work of an attention module before its first attention product.
[[nodiscard]] std::vector<bool> ropeNodes(const ModelGraph& graph);

// Returns why the work counts as not linked, "" when it has an operator, and a module or a named phase.
[[nodiscard]] std::string_view linkWork(const WorkTables& tables, SliceId gpu, WorkLink& work);

} // namespace fusescope
