// SPDX-License-Identifier: Apache-2.0
// Which operators carry no meaning of their own in a picture. Private to core/graph.
#pragma once

#include "core/graph/op_graph.h"

#include <vector>

namespace fusescope {

// isPlumbing() by name, and operators that do nothing with these arguments: dropout in evaluation, a cast to the same
// type.
[[nodiscard]] bool isDrawnThrough(const OpGraph& ops, NodeId node);

// Per node: depends on no weight and no floating-point input. Masks, positions, rotary tables: the same for every
// batch.
[[nodiscard]] std::vector<bool> staticNodes(const OpGraph& ops);

} // namespace fusescope
