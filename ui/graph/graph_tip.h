// SPDX-License-Identifier: GPL-3.0-or-later
// What the graph tells about a box under the mouse.
#pragma once

#include "core/analysis/analysis.h"
#include "core/graph/visible_graph.h"

#include <QString>

namespace fusescope {

// Rich text; everything from the files is escaped.
[[nodiscard]] QString nodeTip(const Analysis& analysis, const VisibleNode& node);
[[nodiscard]] QString moduleTip(const Analysis& analysis, ModuleId id, std::uint32_t repeat);

} // namespace fusescope
