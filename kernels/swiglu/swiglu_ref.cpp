// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu/swiglu_ref.h"

#include <cmath>

namespace fusescope::kernels::reference {

void swigluForward(const double* gate, const double* up, int64_t rows, int64_t width, int64_t inputStride, double* h) {
    for (int64_t row = 0; row < rows; ++row, gate += inputStride, up += inputStride, h += width)
        for (int64_t i = 0; i < width; ++i) h[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
}

void swigluBackward(const double* dh, const double* gate, const double* up, int64_t rows, int64_t width,
                    int64_t inputStride, double* dgate, double* dup) {
    for (int64_t row = 0; row < rows;
         ++row, dh += width, gate += inputStride, up += inputStride, dgate += inputStride, dup += inputStride)
        for (int64_t i = 0; i < width; ++i) {
            const double x = gate[i], d = 1 + std::exp(-x), s = 1 / d;
            dgate[i] = dh[i] * up[i] * s * (1 + x * (1 - s));
            dup[i] = dh[i] * (x / d);
        }
}

} // namespace fusescope::kernels::reference
