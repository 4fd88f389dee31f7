// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw_ref.h"

#include <cmath>

namespace fusescope::kernels::reference {

void adamw(double* param, const double* grad, double* expAvg, double* expAvgSq, int64_t numel, const AdamWScalars& s) {
    const double correction1 = 1 - std::pow(s.beta1, s.step), correction2 = 1 - std::pow(s.beta2, s.step);
    for (int64_t i = 0; i < numel; ++i) {
        const double g = (s.maximize ? -grad[i] : grad[i]) / s.gradScale;
        expAvg[i] = s.beta1 * expAvg[i] + (1 - s.beta1) * g;
        expAvgSq[i] = s.beta2 * expAvgSq[i] + (1 - s.beta2) * g * g;
        param[i] -= s.lr * s.weightDecay * param[i];
        param[i] -= s.lr * (expAvg[i] / correction1) / (std::sqrt(expAvgSq[i] / correction2) + s.eps);
    }
}

} // namespace fusescope::kernels::reference
