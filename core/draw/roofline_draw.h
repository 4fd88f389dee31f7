// SPDX-License-Identifier: Apache-2.0
// The roofline: log-log axes, memory and compute roofs, ridge point, one mark per row of Analysis::ops.
#pragma once

#include "core/draw/draw_list.h"
#include "core/draw/fused_of.h"

#include <span>
#include <string>

namespace fusescope {

struct RooflineAxes { // powers of ten that hold all points but those below, and the ridge
    double min_ai = 0.01, max_ai = 10000, min_flops = 1e9, max_flops = 1e15;
};
[[nodiscard]] RooflineAxes rooflineAxes(const Analysis& analysis);
// Radius (px) of the mark of a row: area in proportion to time, between 3 and 18.
[[nodiscard]] double markRadius(const Analysis& analysis, std::size_t op_row);
// Rows with known, positive FLOPs and bytes; others cannot stand on a log-log chart (say how many were left out).
[[nodiscard]] std::vector<std::uint32_t> plottableOps(const Analysis& analysis);
// Why no operator stands under the roof, in a sentence; "" when one does.
[[nodiscard]] std::string rooflineEmptyText(const Analysis& analysis);
// Rows so short and so slow that the axes do not reach down to them, ascending.
[[nodiscard]] std::vector<std::uint32_t> opsBelowAxes(const Analysis& analysis);
// What was measured: where it stands as run, and where its fused form stands.
struct RooflineMove : FusedOf {
    double ai_now = 0, flops_now = 0, ai_fused = 0, flops_fused = 0; // FLOP/byte, FLOP/s
    double now_ns = 0, fused_ns = 0;                                 // of one instance
    std::string label;
};
[[nodiscard]] DrawList drawRoofline(const Analysis& analysis, double width, double height,
                                    const SelectionSets& selection, std::span<const RooflineMove> moves = {});

} // namespace fusescope
