// SPDX-License-Identifier: Apache-2.0
// Autograd nodes of the backward pass -> the forward operators that made them, by sequence number. Private to
// core/link.
#pragma once

#include "core/link/cpu_context.h"

#include <vector>

namespace fusescope {

// Per cpu op: for a row of an autograd node the forward operator, else invalid.
[[nodiscard]] std::vector<CpuOpId> forwardOps(const TraceStore& trace, const CpuContexts& contexts);

} // namespace fusescope
