// SPDX-License-Identifier: Apache-2.0
// Which module of the graph a module of the trace is. Private to core/link.
#pragma once

#include "core/graph/module_tree.h"

#include <vector>

namespace fusescope {

// Per module of the trace: the graph's module, invalid if it has none.
[[nodiscard]] std::vector<ModuleId> matchModules(const ModuleTree& trace, const ModuleTree& graph);

// The graph's tree with the trace's unmatched modules added below their matched parents (or below the root).
// matched is completed: afterwards every module of the trace has one in the merged tree.
[[nodiscard]] ModuleTree mergeModules(const ModuleTree& trace, const ModuleTree& graph, std::vector<ModuleId>& matched);

} // namespace fusescope
