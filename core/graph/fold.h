// SPDX-License-Identifier: Apache-2.0
// Finds identical layers: numbered siblings ("layers.0", "layers.1" ...) that compute the same. Private to core/graph.
#pragma once

#include "core/graph/op_graph.h"

#include <vector>

namespace fusescope {

// Nodes of a module and all below it, in execution order.
class ModuleNodes {
public:
    explicit ModuleNodes(const ModelGraph& graph);
    [[nodiscard]] std::vector<NodeId> below(ModuleId module) const;

private:
    const ModuleTree& tree_;
    std::vector<std::uint32_t> start_; // CSR over modules
    std::vector<NodeId> nodes_;
};

// Fills ModuleTree::folds and Module::fold_group. Needs consumer rows and the final order of children.
void findFolds(ModelGraph& graph);

} // namespace fusescope
