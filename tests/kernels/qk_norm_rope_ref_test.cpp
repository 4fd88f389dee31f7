// SPDX-License-Identifier: Apache-2.0
#include "kernels/qk_norm_rope/qk_norm_rope_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(QkNormRope, ByHand) {
    // mean(x^2) = (9 + 16) / 2 = 12.5 with eps = 0; times the weight, then a quarter turn: y0 = -n1, y1 = n0.
    const double x[] = {3, 4}, weight[] = {2, 0.5}, cos[] = {0, 0}, sin[] = {1, 1};
    double y[2], rstd[1];
    reference::qkNormRopeForward(x, weight, cos, sin, 0, {1, 1, 2}, y, rstd);
    EXPECT_NEAR(rstd[0], 0.28284271247461901, 1e-15);
    EXPECT_NEAR(y[0], -0.56568542494923802, 1e-14);
    EXPECT_NEAR(y[1], 1.6970562748477141, 1e-14);
}

TEST(QkNormRope, BackwardIsTheSlopeOfForward) {
    const reference::QkNormRopeShape shape{2, 3, 6};
    const double eps = 1e-3, h = 1e-6;
    std::vector<double> x(size_t(shape.tokens * shape.heads * shape.headDim)), dy(x.size()), dx(x.size());
    std::vector<double> weight(size_t(shape.headDim)), dweight(weight.size());
    std::vector<double> cos(size_t(shape.tokens * shape.headDim)), sin(cos.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1), dy[i] = std::cos(3 * double(i));
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = 0.5 + 0.25 * double(i);
    for (size_t i = 0; i < cos.size(); ++i) cos[i] = std::cos(double(i * i)), sin[i] = std::sin(2 + double(i));
    reference::qkNormRopeBackward(dy.data(), x.data(), weight.data(), cos.data(), sin.data(), eps, shape, dx.data(),
                                  dweight.data());

    auto weighedSum = [&] {
        std::vector<double> y(x.size());
        reference::qkNormRopeForward(x.data(), weight.data(), cos.data(), sin.data(), eps, shape, y.data(), nullptr);
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

TEST(QkNormRope, NoTokensLeaveNoWeightGradient) {
    const double weight[] = {1, 1};
    double dweight[] = {7, 7};
    reference::qkNormRopeBackward(nullptr, nullptr, weight, nullptr, nullptr, 1e-6, {0, 4, 2}, nullptr, dweight);
    EXPECT_EQ(dweight[0], 0);
    EXPECT_EQ(dweight[1], 0);
}

} // namespace
