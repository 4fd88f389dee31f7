// SPDX-License-Identifier: Apache-2.0
// Inductor's Triton kernels: the recorded arguments are the tensors the kernel reads and writes. Which is which, and
// the arithmetic, is not recorded.
#include "core/cost/op_call.h"

namespace fusescope {

bool tritonCost(const OpCall& call, OpCost& cost) {
    if (call.name.substr(0, 7) != "triton_") return false;
    double bytes = 0;
    DType type = DType::Unknown;
    for (const OpArg& arg : call.in) {
        if (arg.kind != ArgKind::Tensor) continue;
        bytes += arg.tensor.bytes();
        if (isFloating(arg.tensor.dtype) && type == DType::Unknown) type = arg.tensor.dtype;
    }
    if (bytes <= 0) return false;
    fill(cost, 0, bytes, 0, type,
         "every tensor argument moved once (reads and writes not told apart); arithmetic not recorded");
    cost.flops_known = false;
    return true;
}

} // namespace fusescope
