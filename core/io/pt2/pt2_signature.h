// SPDX-License-Identifier: Apache-2.0
// What a graph's inputs stand for, and in which modules a node lies: the two small grammars beside the graph itself.
#pragma once

#include "core/graph/graph_builder.h"
#include "core/io/pt2/pt2_json.h"

#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope::pt2 {

// What a graph input stands for, from the signature.
struct InputRole {
    ValueKind kind = ValueKind::Input;
    std::string_view qualified_name; // Parameter, Buffer
};
using Roles = std::unordered_map<std::string_view, InputRole>;

[[nodiscard]] Roles readRoles(Json signature);

// "key,path,type" frames separated by ';', outermost first. Keys may hold commas and semicolons inside brackets or
// quotes.
[[nodiscard]] std::vector<ModuleFrame> splitModuleStack(std::string_view text);

// Names are kept to 1,024 characters: longer ones are no names.
[[nodiscard]] inline std::string_view clipped(std::string_view text) { return text.substr(0, 1024); }

} // namespace fusescope::pt2
