// SPDX-License-Identifier: Apache-2.0
// A projection and its gradients in fp64 on the CPU: what the products are compared with. All matrices are contiguous:
// x [rows][in], weight [out][in], y [rows][out].
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

/// y = x weight^T
void projectionForward(const double* x, const double* weight, int64_t rows, int64_t in, int64_t out, double* y);

/// dx = dy weight
void projectionInputGradient(const double* dy, const double* weight, int64_t rows, int64_t in, int64_t out, double* dx);

/// dweight = dy^T x
void projectionWeightGradient(const double* dy, const double* x, int64_t rows, int64_t in, int64_t out,
                              double* dweight);

} // namespace fusescope::kernels::reference
