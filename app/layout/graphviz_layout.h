// SPDX-License-Identifier: GPL-3.0-or-later
// A layout by Graphviz's dot. Graphviz is not thread-safe and may abort on a bad graph: only fusescope-layout links it.
#pragma once

#include "core/base/result.h"
#include "core/graph/layout.h"

namespace fusescope {

[[nodiscard]] Result<LayoutResult> graphvizLayout(const LayoutRequest& request);

} // namespace fusescope
