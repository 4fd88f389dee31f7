// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope_ref.h"

namespace fusescope::kernels::reference {

void ropeForward(const double* x, const double* cos, const double* sin, int64_t tokens, int64_t heads, int64_t headDim,
                 double* y) {
    const int64_t half = headDim / 2;
    for (int64_t t = 0; t < tokens; ++t, cos += headDim, sin += headDim)
        for (int64_t h = 0; h < heads; ++h, x += headDim, y += headDim)
            for (int64_t i = 0; i < half; ++i) {
                const double first = x[i], second = x[i + half];
                y[i] = first * cos[i] - second * sin[i];
                y[i + half] = second * cos[i + half] + first * sin[i + half];
            }
}

void ropeBackward(const double* dy, const double* cos, const double* sin, int64_t tokens, int64_t heads,
                  int64_t headDim, double* dx) {
    const int64_t half = headDim / 2;
    for (int64_t t = 0; t < tokens; ++t, cos += headDim, sin += headDim)
        for (int64_t h = 0; h < heads; ++h, dy += headDim, dx += headDim)
            for (int64_t i = 0; i < half; ++i) {
                const double first = dy[i], second = dy[i + half];
                dx[i] = first * cos[i] + second * sin[i + half];
                dx[i + half] = second * cos[i + half] - first * sin[i];
            }
}

} // namespace fusescope::kernels::reference
