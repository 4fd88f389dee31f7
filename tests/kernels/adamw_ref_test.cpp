// SPDX-License-Identifier: Apache-2.0
#include "kernels/adamw/adamw_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(AdamW, FirstStepsByHand) {
    // In the first step the corrected moments are g and g * g, so the parameter moves by lr against the gradient's
    // sign, after it has lost lr * weightDecay of itself.
    reference::AdamWScalars s;
    s.lr = 0.5;
    s.beta1 = 0.75;
    s.beta2 = 0.5;
    s.eps = 0;
    s.weightDecay = 0.25;
    double param[] = {8, -16, 0}, expAvg[] = {0, 0, 0}, expAvgSq[] = {0, 0, 0};
    const double grad[] = {4, -0.25, 2};
    reference::adamw(param, grad, expAvg, expAvgSq, 3, s);
    const double params[] = {8 - 1 - 0.5, -16 + 2 + 0.5, -0.5}, averages[] = {1, -0.0625, 0.5},
                 squares[] = {8, 0.03125, 2};
    for (int i = 0; i < 3; ++i) {
        EXPECT_DOUBLE_EQ(param[i], params[i]) << i;
        EXPECT_DOUBLE_EQ(expAvg[i], averages[i]) << i;
        EXPECT_DOUBLE_EQ(expAvgSq[i], squares[i]) << i;
    }

    // The second with a gradient of 0: exp_avg = 0.75 * 1 over 1 - 0.75^2 = 7/16; exp_avg_sq = 4 over 1 - 0.25 = 3/4.
    s.step = 2;
    s.weightDecay = 0;
    const double none[] = {0};
    reference::adamw(param, none, expAvg, expAvgSq, 1, s);
    EXPECT_DOUBLE_EQ(param[0], 6.5 - 0.5 * (12. / 7) / std::sqrt(16. / 3));
    EXPECT_DOUBLE_EQ(expAvg[0], 0.75);
    EXPECT_DOUBLE_EQ(expAvgSq[0], 4);
}

TEST(AdamW, EpsKeepsAnElementWithoutGradient) {
    double param = 3, expAvg = 0, expAvgSq = 0;
    const double grad = 0;
    reference::AdamWScalars s;
    s.weightDecay = 0;
    reference::adamw(&param, &grad, &expAvg, &expAvgSq, 1, s);
    EXPECT_EQ(param, 3);
}

TEST(AdamW, ScaleAndMaximize) {
    const double grads[] = {0.3, -2, 50}, turned[] = {-0.3 * 8, 2 * 8, -50 * 8};
    std::vector<double> first = {1, 2, 3}, second = first, m1(3, 0.1), m2(3, 0.1), v1(3, 0.2), v2(3, 0.2);
    reference::AdamWScalars s;
    s.step = 4;
    reference::adamw(first.data(), grads, m1.data(), v1.data(), 3, s);
    s.maximize = true;
    s.gradScale = 8;
    reference::adamw(second.data(), turned, m2.data(), v2.data(), 3, s);
    EXPECT_EQ(first, second);
    EXPECT_EQ(m1, m2);
    EXPECT_EQ(v1, v2);
}

} // namespace
