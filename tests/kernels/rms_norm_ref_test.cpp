// SPDX-License-Identifier: Apache-2.0
#include "kernels/rms_norm/rms_norm_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(RmsNorm, ByHand) {
    // mean(x^2) = (9 + 16) / 2 = 12.5; with eps = 0: 3 / sqrt(12.5), 4 / sqrt(12.5)
    const double x[] = {3, 4}, weight[] = {2, 0.5};
    double y[2], rstd[1];
    reference::rmsNormForward(x, weight, 0, 1, 2, y, rstd);
    EXPECT_NEAR(rstd[0], 0.28284271247461901, 1e-15);
    EXPECT_NEAR(y[0], 1.6970562748477141, 1e-14);
    EXPECT_NEAR(y[1], 0.56568542494923802, 1e-14);
}

TEST(RmsNorm, BackwardIsTheSlopeOfForward) {
    const int64_t rows = 3, width = 5;
    const double eps = 1e-3, h = 1e-6;
    std::vector<double> x(rows * width), dy(rows * width), weight(width), dx(rows * width), dweight(width);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1), dy[i] = std::cos(3 * double(i));
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = 0.5 + 0.25 * double(i);
    reference::rmsNormBackward(dy.data(), x.data(), weight.data(), eps, rows, width, dx.data(), dweight.data());

    auto weighedSum = [&] {
        std::vector<double> y(rows * width);
        reference::rmsNormForward(x.data(), weight.data(), eps, rows, width, y.data(), nullptr);
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
        return sum;
    };
    auto slope = [&](double& at) {
        const double kept = at;
        at = kept + h;
        const double above = weighedSum();
        at = kept - h;
        const double below = weighedSum();
        at = kept;
        return (above - below) / (2 * h);
    };
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], slope(x[i]), 1e-8) << i;
    for (size_t i = 0; i < weight.size(); ++i) EXPECT_NEAR(dweight[i], slope(weight[i]), 1e-8) << i;
}

TEST(RmsNorm, NoRowsLeaveNoWeightGradient) {
    const double weight[] = {1, 1};
    double dweight[] = {7, 7};
    reference::rmsNormBackward(nullptr, nullptr, weight, 1e-6, 0, 2, nullptr, dweight);
    EXPECT_EQ(dweight[0], 0);
    EXPECT_EQ(dweight[1], 0);
}

} // namespace
