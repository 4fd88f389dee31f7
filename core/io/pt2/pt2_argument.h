// SPDX-License-Identifier: Apache-2.0
// One argument of a node: a tagged union of some thirty kinds, brought to values and the text FX prints.
#pragma once

#include "core/graph/graph_builder.h"
#include "core/io/pt2/pt2_json.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace fusescope::pt2 {

// Names visible in one (sub-)graph. The views point into the JSON document.
using Scope = std::unordered_map<std::string_view, ValueId>;

struct Argument {
    ArgKind kind = ArgKind::None;
    std::string text;
    std::vector<ValueId> values;
    std::size_t unknown_names = 0; // values the graph never made
};

[[nodiscard]] Argument argumentOf(Json json, const Scope& scope);

// Names of the values an argument mentions, in order: for graph inputs and outputs.
[[nodiscard]] std::vector<std::string_view> namesIn(Json argument);

} // namespace fusescope::pt2
