// SPDX-License-Identifier: Apache-2.0
#include "kernels/qkv_projection/qkv_projection_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(QkvProjection, ByHand) {
    const double x[] = {1, 2, 3, 4}, weight[] = {1, 0, 0, 1, 1, -1}; // 2 rows, 2 in, 3 out
    double y[6];
    reference::projectionForward(x, weight, 2, 2, 3, y);
    const double want[] = {1, 2, -1, 3, 4, -1};
    for (int i = 0; i < 6; ++i) EXPECT_EQ(y[i], want[i]) << i;
}

TEST(QkvProjection, GradientsAreTheSlopesOfForward) {
    const int64_t rows = 3, in = 4, out = 5;
    const double step = 1e-6;
    std::vector<double> x(rows * in), weight(out * in), dy(rows * out), dx(x.size()), dweight(weight.size(), 7.);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1);
    for (size_t i = 0; i < weight.size(); ++i) weight[i] = std::cos(2 * double(i));
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = std::sin(5 * double(i));
    reference::projectionInputGradient(dy.data(), weight.data(), rows, in, out, dx.data());
    reference::projectionWeightGradient(dy.data(), x.data(), rows, in, out, dweight.data());

    auto weighedSum = [&] {
        std::vector<double> y(rows * out);
        reference::projectionForward(x.data(), weight.data(), rows, in, out, y.data());
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
        return sum;
    };
    auto slope = [&](double& at) {
        const double kept = at;
        at = kept + step;
        const double above = weighedSum();
        at = kept - step;
        const double below = weighedSum();
        at = kept;
        return (above - below) / (2 * step);
    };
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], slope(x[i]), 1e-8) << i;
    for (size_t i = 0; i < weight.size(); ++i) EXPECT_NEAR(dweight[i], slope(weight[i]), 1e-8) << i;
}

TEST(QkvProjection, NoRowsAndNoColumns) {
    const double weight[] = {1, 2};
    double y[] = {7}, dweight[] = {7, 7};
    reference::projectionForward(nullptr, nullptr, 1, 0, 1, y);
    EXPECT_EQ(y[0], 0);
    reference::projectionWeightGradient(nullptr, nullptr, 0, 2, 1, dweight);
    EXPECT_EQ(dweight[0], 0);
    EXPECT_EQ(dweight[1], 0);
    reference::projectionInputGradient(nullptr, weight, 0, 2, 1, nullptr);
}

} // namespace
