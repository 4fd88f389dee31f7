// SPDX-License-Identifier: Apache-2.0
// The recorded arguments of a cpu_op, parsed on demand from the interned JSON text.
#pragma once

#include "core/base/tensor.h"
#include "core/trace/trace_store.h"

#include <vector>

namespace fusescope {

// Empty when the trace has no shapes for this row. Views point into store.strings.
[[nodiscard]] std::vector<OpArg> parseOpArgs(const TraceStore& store, CpuOpId op);

} // namespace fusescope
