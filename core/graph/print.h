// SPDX-License-Identifier: Apache-2.0
// Text forms of a model graph for people: print(model), FX's node list, a torchinfo-like table is in core/report.
#pragma once

#include "core/graph/op_graph.h"

#include <string>

namespace fusescope {

// As print(model): "(0-35): 36 x Qwen3DecoderLayer(", "Linear(in_features=4096, out_features=1024, bias=False)".
[[nodiscard]] std::string printTree(const ModelGraph& graph);
// As print(graph): "%mul_4 : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (...), kwargs =
// {})".
[[nodiscard]] std::string printNodes(const ModelGraph& graph);

} // namespace fusescope
