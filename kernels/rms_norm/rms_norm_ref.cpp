// SPDX-License-Identifier: Apache-2.0
#include "kernels/rms_norm/rms_norm_ref.h"

#include <algorithm>
#include <cmath>

namespace fusescope::kernels::reference {
namespace {

double rstdOf(const double* x, int64_t width, double eps) {
    double squares = 0;
    for (int64_t i = 0; i < width; ++i) squares += x[i] * x[i];
    return 1 / std::sqrt(squares / double(width) + eps);
}

} // namespace

void rmsNormForward(const double* x, const double* weight, double eps, int64_t rows, int64_t width, double* y,
                    double* rstd) {
    for (int64_t row = 0; row < rows; ++row, x += width, y += width) {
        const double r = rstdOf(x, width, eps);
        for (int64_t i = 0; i < width; ++i) y[i] = weight[i] * (x[i] * r);
        if (rstd) rstd[row] = r;
    }
}

void rmsNormBackward(const double* dy, const double* x, const double* weight, double eps, int64_t rows, int64_t width,
                     double* dx, double* dweight) {
    if (dweight) std::fill(dweight, dweight + width, 0.);
    for (int64_t row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
        const double r = rstdOf(x, width, eps);
        double dot = 0;
        for (int64_t i = 0; i < width; ++i) dot += dy[i] * weight[i] * x[i];
        const double c = -dot * r * r * r / double(width);
        for (int64_t i = 0; i < width; ++i) {
            if (dweight) dweight[i] += dy[i] * x[i] * r;
            dx[i] = dy[i] * weight[i] * r + x[i] * c;
        }
    }
}

} // namespace fusescope::kernels::reference
