// SPDX-License-Identifier: Apache-2.0
// Operators of the loss in traces without Python frames. Private to core/link.
#pragma once

#include "core/link/cpu_context.h"

#include <vector>

namespace fusescope {

// Per cpu op (top level of the forward pass): from the operator after the last matrix product (lm_head) up to the
// operator that is a loss by name: the conversion of the logits, the shift of the labels, the loss itself.
[[nodiscard]] std::vector<bool> lossOps(const TraceStore& trace, const CpuContexts& contexts);

} // namespace fusescope
