// SPDX-License-Identifier: Apache-2.0
// RMSNorm in fp64 on the CPU: what the kernels are compared with. Rows are contiguous, [rows][width].
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

/// `rstd` may be null.
void rmsNormForward(const double* x, const double* weight, double eps, int64_t rows, int64_t width, double* y,
                    double* rstd);

/// `dweight` may be null. Computes rstd anew.
void rmsNormBackward(const double* dy, const double* x, const double* weight, double eps, int64_t rows, int64_t width,
                     double* dx, double* dweight);

} // namespace fusescope::kernels::reference
