// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_cross_entropy/linear_cross_entropy_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fusescope::kernels::reference {

double linearCrossEntropy(const LinearCrossEntropy& c, double* dx, double* dweight) {
    if (dx) std::fill(dx, dx + c.tokens * c.hidden, 0.);
    if (dweight) std::fill(dweight, dweight + c.vocab * c.hidden, 0.);
    const double divisor =
        c.divisor >= 0 ? c.divisor : double(c.tokens - std::count(c.labels, c.labels + c.tokens, c.ignored));

    double loss = 0;
    std::vector<double> z(static_cast<size_t>(c.vocab));
    for (int64_t t = 0; t < c.tokens; ++t) {
        const int64_t label = c.labels[t];
        if (label == c.ignored) continue;
        const double* x = c.x + t * c.hidden;
        for (int64_t v = 0; v < c.vocab; ++v) {
            double sum = 0;
            for (int64_t h = 0; h < c.hidden; ++h) sum += x[h] * c.weight[v * c.hidden + h];
            z[size_t(v)] = sum;
        }
        const double most = *std::max_element(z.begin(), z.end());
        double sum = 0;
        for (double v : z) sum += std::exp(v - most);
        const bool known = label >= 0 && label < c.vocab;
        const double nan = std::numeric_limits<double>::quiet_NaN();
        loss += known ? std::log(sum) + (most - z[size_t(label)]) : nan;
        for (int64_t v = 0; v < c.vocab && (dx || dweight); ++v) {
            const double p = std::exp(z[size_t(v)] - most) / sum;
            const double dz = known ? (p - (v == label ? 1 : 0)) / divisor : nan;
            for (int64_t h = 0; h < c.hidden; ++h) {
                if (dx) dx[t * c.hidden + h] += dz * c.weight[v * c.hidden + h];
                if (dweight) dweight[v * c.hidden + h] += dz * x[h];
            }
        }
    }
    return loss / divisor;
}

} // namespace fusescope::kernels::reference
