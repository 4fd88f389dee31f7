// SPDX-License-Identifier: Apache-2.0
// One AdamW step in fp64 on the CPU: what the kernels are compared with.
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

struct AdamWScalars {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weightDecay = 1e-2;
    double step = 1; ///< 1 in the first step
    bool maximize = false;
    double gradScale = 1; ///< what the gradients were multiplied by
};

/// Updates param, expAvg and expAvgSq, `numel` elements each.
void adamw(double* param, const double* grad, double* expAvg, double* expAvgSq, int64_t numel, const AdamWScalars& s);

} // namespace fusescope::kernels::reference
