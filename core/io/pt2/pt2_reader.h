// SPDX-License-Identifier: Apache-2.0
// torch.export archives (.pt2), torch 2.1 to 2.11. readPt2() in core/io/open.h reads a file; this one reads bytes.
#pragma once

#include "core/base/result.h"
#include "core/graph/op_graph.h"

#include <string_view>

namespace fusescope {

[[nodiscard]] Result<GraphPtr> readPt2Memory(std::string_view bytes);
[[nodiscard]] Result<GraphPtr> readPt2Json(std::string_view json); // models/*.json alone, without its archive

} // namespace fusescope
