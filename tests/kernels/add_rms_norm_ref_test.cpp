// SPDX-License-Identifier: Apache-2.0
#include "kernels/add_rms_norm/add_rms_norm_ref.h"

#include <gtest/gtest.h>

using namespace fusescope::kernels;

namespace {

TEST(AddRmsNorm, ByHand) {
    // sum = (3, 4); mean of squares 12.5, eps 0
    const double x[] = {1, 5}, residual[] = {2, -1}, weight[] = {2, 0.5};
    double sum[2], y[2];
    reference::addRmsNormForward(x, residual, weight, 0, 1, 2, sum, y);
    EXPECT_EQ(sum[0], 3);
    EXPECT_EQ(sum[1], 4);
    EXPECT_NEAR(y[0], 1.6970562748477141, 1e-14);
    EXPECT_NEAR(y[1], 0.56568542494923802, 1e-14);
}

TEST(AddRmsNorm, GradientsOfBothPathsAddUp) {
    // With dy = 0 only the residual's gradient is left; a constant row scaled alike has no gradient through the norm.
    const double dsum[] = {0.25, -4}, sum[] = {3, 4}, weight[] = {1, 1}, none[] = {0, 0};
    double dx[2], dweight[2];
    reference::addRmsNormBackward(none, dsum, sum, weight, 0, 1, 2, dx, dweight);
    EXPECT_EQ(dx[0], 0.25);
    EXPECT_EQ(dx[1], -4);
    // dy along sum: y does not change when sum grows in its own direction, so nothing comes through the norm.
    reference::addRmsNormBackward(sum, dsum, sum, weight, 0, 1, 2, dx, dweight);
    EXPECT_NEAR(dx[0], 0.25, 1e-15);
    EXPECT_NEAR(dx[1], -4, 1e-15);
}

} // namespace
