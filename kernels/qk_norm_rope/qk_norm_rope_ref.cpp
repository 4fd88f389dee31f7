// SPDX-License-Identifier: Apache-2.0
#include "kernels/qk_norm_rope/qk_norm_rope_ref.h"

#include "kernels/rms_norm/rms_norm_ref.h"
#include "kernels/rope/rope_ref.h"

#include <cstddef>
#include <vector>

namespace fusescope::kernels::reference {

void qkNormRopeForward(const double* x, const double* weight, const double* cos, const double* sin, double eps,
                       const QkNormRopeShape& shape, double* y, double* rstd) {
    rmsNormForward(x, weight, eps, shape.tokens * shape.heads, shape.headDim, y, rstd);
    ropeForward(y, cos, sin, shape.tokens, shape.heads, shape.headDim, y);
}

void qkNormRopeBackward(const double* dy, const double* x, const double* weight, const double* cos, const double* sin,
                        double eps, const QkNormRopeShape& shape, double* dx, double* dweight) {
    std::vector<double> turned(std::size_t(shape.tokens * shape.heads * shape.headDim));
    ropeBackward(dy, cos, sin, shape.tokens, shape.heads, shape.headDim, turned.data());
    rmsNormBackward(turned.data(), x, weight, eps, shape.tokens * shape.heads, shape.headDim, dx, dweight);
}

} // namespace fusescope::kernels::reference
