// SPDX-License-Identifier: Apache-2.0
// Lays out with the fusescope-layout program beside the running one (3 s, then killed), else with the layered fallback.
#pragma once

#include "core/graph/layout.h"

namespace fusescope {

[[nodiscard]] LayoutResult layoutWithHelper(const LayoutRequest& request);

} // namespace fusescope
