// SPDX-License-Identifier: Apache-2.0
// Which node of the graph an operator of the trace is. Private to core/link.
#pragma once

#include "core/link/cpu_context.h"
#include "core/link/link.h"
#include "core/link/trace_modules.h"

#include <vector>

namespace fusescope {

struct NodeMatch {
    std::vector<NodeId> node;     // per cpu op; invalid = none
    std::vector<ModuleId> module; // per cpu op, only where the trace has no frames: found by alignment
};

// frames: module of each frame, in the merged tree (ids below graph.modules.size() are the graph's).
[[nodiscard]] NodeMatch matchNodes(const TraceStore& trace, const CpuContexts& contexts, const ModelGraph& graph,
                                   const std::unordered_map<std::uint32_t, ModuleId>& frames);

} // namespace fusescope
