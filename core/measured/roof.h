// SPDX-License-Identifier: Apache-2.0
// What a fused form reaches of what the GPU that ran it can do.
#pragma once

#include "core/measured/measured.h"

#include <string>

namespace fusescope {

// FLOPs per second of a large matrix product on the GPU that ran; 0: not known, or a CPU.
[[nodiscard]] double matmulRate(const Analysis& analysis, const FuseResult& result);

// The time that its bytes take at the copy bandwidth of the same run, or its FLOPs at the rate of a large matrix
// product, whichever is longer, beside its own. 0: not known.
struct RoofShare {
    double Bps = 0, flops = 0; // reached
    double share = 0;
    bool by_flops = false;
};
[[nodiscard]] RoofShare roofShare(const MeasuredResult& result, const Comparison& direction, double matmul_flops);

} // namespace fusescope
