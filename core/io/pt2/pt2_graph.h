// SPDX-License-Identifier: Apache-2.0
// Walks the graphs of an exported program and pushes them into a GraphBuilder.
#pragma once

#include "core/base/progress.h"
#include "core/graph/graph_builder.h"
#include "core/io/pt2/pt2_json.h"

#include <string>
#include <string_view>
#include <unordered_map>

namespace fusescope::pt2 {

// Parameters that lie in the same bytes have the same key; absent: own bytes, or not known.
using StorageKeys = std::unordered_map<std::string, std::string>; // parameter name -> key

// graph_module: the ExportedProgram's. where: for messages.
[[nodiscard]] Status readGraphModule(Json graph_module, const StorageKeys& storage, GraphBuilder& builder,
                                     Progress& progress, const std::string& where);

} // namespace fusescope::pt2
