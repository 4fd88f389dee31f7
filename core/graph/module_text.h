// SPDX-License-Identifier: Apache-2.0
// What print(model) writes between a module's brackets, as far as a graph can know it. Private to core/graph.
#pragma once

#include "core/graph/op_graph.h"

#include <string>
#include <vector>

namespace fusescope {

struct ModuleText {
    std::string print; // "in_features=4096, out_features=1024, bias=False"; "" when nothing is known
    std::string brief; // for a box: "4096 → 1024"
};

class ModuleTexts {
public:
    explicit ModuleTexts(const ModelGraph& graph);
    [[nodiscard]] ModuleText of(ModuleId module) const;

private:
    const ModelGraph& graph_;
    std::vector<std::vector<NodeId>> nodes_; // directly in each module
};

} // namespace fusescope
