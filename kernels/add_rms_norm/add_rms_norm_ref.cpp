// SPDX-License-Identifier: Apache-2.0
#include "kernels/add_rms_norm/add_rms_norm_ref.h"

#include "kernels/rms_norm/rms_norm_ref.h"

namespace fusescope::kernels::reference {

void addRmsNormForward(const double* x, const double* residual, const double* weight, double eps, int64_t rows,
                       int64_t width, double* sum, double* y) {
    for (int64_t i = 0; i < rows * width; ++i) sum[i] = x[i] + residual[i];
    rmsNormForward(sum, weight, eps, rows, width, y, nullptr);
}

void addRmsNormBackward(const double* dy, const double* dsum, const double* sum, const double* weight, double eps,
                        int64_t rows, int64_t width, double* dx, double* dweight) {
    rmsNormBackward(dy, sum, weight, eps, rows, width, dx, dweight);
    for (int64_t i = 0; i < rows * width; ++i) dx[i] += dsum[i];
}

} // namespace fusescope::kernels::reference
