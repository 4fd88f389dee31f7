// SPDX-License-Identifier: Apache-2.0
// Where a finding stands in the model and in its source. Shared with core/region, else private to core/fusion.
#pragma once

#include "core/fusion/instances.h"

#include <string>
#include <vector>

namespace fusescope::fusion {

// Module paths with what differs between them as "*": "model.layers.*.input_layernorm".
[[nodiscard]] std::vector<std::string> modulesOf(const FusionInput& input, const std::vector<const Draft*>& drafts);
// "modeling_qwen3.py:63", from the graph's stacks, else the Python frames of the trace.
[[nodiscard]] std::vector<std::string> sourcesOf(const FusionInput& input, const StepOps* trace,
                                                 const std::vector<const Draft*>& drafts);
[[nodiscard]] std::string foldedPath(const std::string& path);

} // namespace fusescope::fusion
