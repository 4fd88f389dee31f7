// SPDX-License-Identifier: GPL-3.0-or-later
// What the graph tells about a box under the mouse.
#pragma once

#include "core/analysis/analysis.h"
#include "core/draw/graph_draw.h"
#include "core/graph/visible_graph.h"
#include "core/measured/measured.h"

#include <QString>

namespace fusescope {

// Rich text; everything from the files is escaped.
[[nodiscard]] QString nodeTip(const Analysis& analysis, const VisibleNode& node);
[[nodiscard]] QString moduleTip(const Analysis& analysis, ModuleId id, std::uint32_t repeat);
// What was measured of a group of instances: unfused and fused, what one of them saves in the step, how exact.
[[nodiscard]] QString fusedTip(const Analysis& analysis, const FusedGroup& group, const MeasuredSet& measured);

} // namespace fusescope
