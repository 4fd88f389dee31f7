// SPDX-License-Identifier: Apache-2.0
// RMSNorm of every head, then rotary embedding, in fp64 on the CPU; of q or of k alone. x, y, dy and dx are
// [tokens][heads][headDim], cos and sin [tokens][headDim], weight and dweight [headDim].
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

struct QkNormRopeShape {
    int64_t tokens;
    int64_t heads;
    int64_t headDim;
};

/// `rstd` [tokens][heads] may be null.
void qkNormRopeForward(const double* x, const double* weight, const double* cos, const double* sin, double eps,
                       const QkNormRopeShape& shape, double* y, double* rstd);

/// `dweight` may be null. Computes rstd anew.
void qkNormRopeBackward(const double* dy, const double* x, const double* weight, const double* cos, const double* sin,
                        double eps, const QkNormRopeShape& shape, double* dx, double* dweight);

} // namespace fusescope::kernels::reference
