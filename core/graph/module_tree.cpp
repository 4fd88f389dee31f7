// SPDX-License-Identifier: Apache-2.0
#include "core/graph/module_tree.h"

#include <unordered_set>

namespace fusescope {

const Module ModuleTree::kNoModule{};

ModuleId ModuleTree::find(std::string_view path) const {
    for (std::size_t i = 0; i < modules.size(); ++i)
        if (modules[i].path == path) return ModuleId(i);
    return {};
}

std::int64_t ModuleTree::parameterCount(ModuleId id) const {
    if (!id.valid() || id.index() >= modules.size()) return 0;
    std::int64_t count = 0;
    std::unordered_set<std::uint32_t> seen; // the parameter that owns the storage
    std::vector<ModuleId> open{id};
    while (!open.empty()) {
        const Module& module = at(open.back());
        open.pop_back();
        for (const std::uint32_t index : module.parameters) {
            const Parameter& parameter = parameters[index];
            if (parameter.is_buffer) continue;
            const bool shared = parameter.shared_with < parameters.size();
            if (seen.insert(shared ? parameter.shared_with : index).second) count += parameter.meta.numel();
        }
        open.insert(open.end(), module.children.begin(), module.children.end());
    }
    return count;
}

bool ModuleTree::contains(ModuleId a, ModuleId b) const {
    // Parents stand before their children, so the walk upwards ends.
    while (b.valid()) {
        if (a == b) return true;
        b = at(b).parent;
    }
    return false;
}

} // namespace fusescope
