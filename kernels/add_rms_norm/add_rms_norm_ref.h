// SPDX-License-Identifier: Apache-2.0
// Residual addition and RMSNorm in fp64 on the CPU. Rows are contiguous, [rows][width].
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

void addRmsNormForward(const double* x, const double* residual, const double* weight, double eps, int64_t rows,
                       int64_t width, double* sum, double* y);

/// `dx` is the gradient of x and of residual alike; `dweight` may be null.
void addRmsNormBackward(const double* dy, const double* dsum, const double* sum, const double* weight, double eps,
                        int64_t rows, int64_t width, double* dx, double* dweight);

} // namespace fusescope::kernels::reference
