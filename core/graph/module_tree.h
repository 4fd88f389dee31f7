// SPDX-License-Identifier: Apache-2.0
// The nn.Module hierarchy, from a graph's nn_module_stack or from a trace's "nn.Module: X_n" frames.
#pragma once

#include "core/base/ids.h"
#include "core/base/tensor.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

struct Parameter {
    std::string name; // fully qualified: "model.layers.0.mlp.up_proj.weight"
    TensorMeta meta;
    bool is_buffer = false;
    std::uint32_t shared_with = Id<struct ParameterTag>::kNone; // index of the parameter whose storage this one shares
};

struct Module {
    std::string path;     // "model.layers.0.self_attn"; root "" (trace: "Qwen3Model_0/Qwen3DecoderLayer_1/...")
    std::string name;     // last component: "self_attn"
    std::string type;     // short class: "Qwen3Attention"; empty if unknown
    std::string type_fqn; // "transformers.models.qwen3.modeling_qwen3.Qwen3Attention"
    ModuleId parent;      // invalid for the root
    std::vector<ModuleId> children;                       // order of first execution (parameters-only modules last)
    std::vector<std::uint32_t> parameters;                // own ones, indices into ModuleTree::parameters
    std::uint32_t declared = 0;                           // rank among the declared modules: the order of print(model)
    std::uint32_t fold_group = Id<struct FoldTag>::kNone; // index into ModuleTree::folds
};

// Siblings that do the same (same types, shapes, operators, wiring): "36 x Qwen3DecoderLayer".
struct FoldGroup {
    std::vector<ModuleId> members; // at least two, in order; members[0] represents them
};

struct ModuleTree {
    std::vector<Module> modules; // parents before children; modules[0] is the root
    std::vector<Parameter> parameters;
    std::vector<FoldGroup> folds;

    // An id that is none is an empty module.
    [[nodiscard]] const Module& at(ModuleId id) const noexcept {
        return id.index() < modules.size() ? modules[id.index()] : kNoModule;
    }
    [[nodiscard]] ModuleId find(std::string_view path) const; // invalid if absent
    // Parameters (no buffers) of the module and all below it; shared storage counted once.
    [[nodiscard]] std::int64_t parameterCount(ModuleId id) const;
    // True when a is b or an ancestor of b.
    [[nodiscard]] bool contains(ModuleId a, ModuleId b) const;

    static const Module kNoModule;
};

} // namespace fusescope
