// SPDX-License-Identifier: Apache-2.0
// The model graph as blocks, coloured as in the article, flagged regions outlined.
#pragma once

#include "core/draw/draw_list.h"
#include "core/graph/layout.h"

namespace fusescope {

// analysis.graph must not be null. Measured time and share stand in the boxes when there is a trace.
[[nodiscard]] DrawList drawGraph(const Analysis& analysis, const VisibleGraph& graph, const LayoutResult& layout,
                                 const SelectionSets& selection);
// What a layout must leave room for when drawGraph() draws it.
[[nodiscard]] LayoutRequest drawnLayoutRequest(const VisibleGraph& graph);
// Fill role of a module or op box by its class.
[[nodiscard]] ColourRole blockRole(const ModuleTree& tree, ModuleId module);

} // namespace fusescope
