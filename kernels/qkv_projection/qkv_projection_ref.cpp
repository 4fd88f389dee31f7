// SPDX-License-Identifier: Apache-2.0
#include "kernels/qkv_projection/qkv_projection_ref.h"

#include <algorithm>

namespace fusescope::kernels::reference {

void projectionForward(const double* x, const double* weight, int64_t rows, int64_t in, int64_t out, double* y) {
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < out; ++o) {
            double sum = 0;
            for (int64_t i = 0; i < in; ++i) sum += x[r * in + i] * weight[o * in + i];
            y[r * out + o] = sum;
        }
}

void projectionInputGradient(const double* dy, const double* weight, int64_t rows, int64_t in, int64_t out,
                             double* dx) {
    std::fill(dx, dx + rows * in, 0.);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < out; ++o)
            for (int64_t i = 0; i < in; ++i) dx[r * in + i] += dy[r * out + o] * weight[o * in + i];
}

void projectionWeightGradient(const double* dy, const double* x, int64_t rows, int64_t in, int64_t out,
                              double* dweight) {
    std::fill(dweight, dweight + out * in, 0.);
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < out; ++o)
            for (int64_t i = 0; i < in; ++i) dweight[o * in + i] += dy[r * out + o] * x[r * in + i];
}

} // namespace fusescope::kernels::reference
