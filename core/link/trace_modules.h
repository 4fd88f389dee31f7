// SPDX-License-Identifier: Apache-2.0
// The module tree that a trace's "nn.Module: X_n" frames show, and every call of a module. Private to core/link.
#pragma once

#include "core/link/cpu_context.h"
#include "core/link/link.h"

#include <unordered_map>
#include <vector>

namespace fusescope {

struct TraceModules {
    ModuleTree tree;                                      // modules[0]: a root above the outermost frames, path ""
    std::vector<ModuleCall> calls;                        // by time; module: into tree
    std::unordered_map<std::uint32_t, ModuleId> of_frame; // slice of a frame -> module
};

[[nodiscard]] TraceModules traceModules(const TraceStore& trace, const CpuContexts& contexts);

} // namespace fusescope
