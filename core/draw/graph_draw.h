// SPDX-License-Identifier: Apache-2.0
// The model graph as blocks, coloured as in the article, flagged regions outlined.
#pragma once

#include "core/draw/draw_list.h"
#include "core/draw/timeline_draw.h"
#include "core/graph/layout.h"

namespace fusescope {

// Measured instances of a finding or region that the same boxes show, those of identical layers together: of the first
// of them, with the speed of the slowest.
struct FusedGroup : FusedOf {
    std::uint32_t instances = 0;
    std::vector<std::int32_t> boxes; // visible nodes, ascending
    // Of one, the mean over them: in the step, where that is known (TimelineFused::in_step_ns), else of the directions
    // that are measured, alone. unfused_ns: 0 where it was not seen in the step.
    double fused_ns = 0, unfused_ns = 0;
};
[[nodiscard]] std::vector<FusedGroup> fusedGroups(const Analysis& analysis, const VisibleGraph& graph,
                                                  std::span<const TimelineFused> fused);
// "RMSNorm 190 µs → 66.0 µs ×2", "RoPE 20.0 µs → 30.0 µs, slower"; without a trace "RMSNorm fused 66.0 µs"
[[nodiscard]] std::string fusedText(const Analysis& analysis, const FusedGroup& group);
// analysis.graph must not be null. Measured time and share stand in the boxes when there is a trace. Boxes of measured
// instances are outlined in the colour of their speed, together where nothing else stands between them, and say what
// the fused form takes. marked: rows of the findings worth marking once measured (MeasuredPlan::marked); null: as
// predicted.
[[nodiscard]] DrawList drawGraph(const Analysis& analysis, const VisibleGraph& graph, const LayoutResult& layout,
                                 const SelectionSets& selection, std::span<const TimelineFused> fused = {},
                                 const std::vector<std::uint32_t>* marked = nullptr);
// What a layout must leave room for when drawGraph() draws it.
[[nodiscard]] LayoutRequest drawnLayoutRequest(const VisibleGraph& graph);
// Fill role of a module or op box by its class.
[[nodiscard]] ColourRole blockRole(const ModuleTree& tree, ModuleId module);

} // namespace fusescope
