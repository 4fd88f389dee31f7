// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope/rope_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(Rope, ByHand) {
    // head_dim 4, one token, two heads. The pairs are (x0, x2) and (x1, x3): a quarter turn and no turn.
    const double cos[] = {0, 1, 0, 1}, sin[] = {1, 0, 1, 0};
    const double x[] = {1, 2, 3, 4, -5, 6, 7, -8};
    double y[8];
    reference::ropeForward(x, cos, sin, 1, 2, 4, y);
    const double wanted[] = {-3, 2, 1, 4, -7, 6, -5, -8};
    for (int i = 0; i < 8; ++i) EXPECT_EQ(y[i], wanted[i]) << i;
}

TEST(Rope, HalvesOfTheTableAreTheirOwn) {
    // y0 = x0 * cos0 - x1 * sin0, y1 = x1 * cos1 + x0 * sin1
    const double cos[] = {2, 3}, sin[] = {5, 7}, x[] = {10, 100};
    double y[2];
    reference::ropeForward(x, cos, sin, 1, 1, 2, y);
    EXPECT_EQ(y[0], -480);
    EXPECT_EQ(y[1], 370);
}

TEST(Rope, KeepsTheLengthOfEveryPair) {
    const int64_t tokens = 3, heads = 2, headDim = 6, half = headDim / 2;
    std::vector<double> x(tokens * heads * headDim), y(x.size()), cos(tokens * headDim), sin(cos.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1);
    for (int64_t t = 0; t < tokens; ++t)
        for (int64_t i = 0; i < headDim; ++i) {
            cos[size_t(t * headDim + i)] = std::cos(double(t) + 0.3 * double(i % half));
            sin[size_t(t * headDim + i)] = std::sin(double(t) + 0.3 * double(i % half));
        }
    reference::ropeForward(x.data(), cos.data(), sin.data(), tokens, heads, headDim, y.data());
    for (size_t row = 0; row < size_t(tokens * heads); ++row)
        for (size_t i = row * size_t(headDim), end = i + size_t(half); i < end; ++i)
            EXPECT_NEAR(std::hypot(y[i], y[i + size_t(half)]), std::hypot(x[i], x[i + size_t(half)]), 1e-14);
}

TEST(Rope, BackwardIsTheTransposeOfForward) {
    // The forward is linear: <dy, forward(x)> = <backward(dy), x>, for any tables.
    const int64_t tokens = 2, heads = 3, headDim = 8;
    std::vector<double> x(tokens * heads * headDim), y(x.size()), dy(x.size()), dx(x.size());
    std::vector<double> cos(tokens * headDim), sin(cos.size());
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1), dy[i] = std::cos(3 * double(i));
    for (size_t i = 0; i < cos.size(); ++i) cos[i] = std::cos(double(i) * double(i)), sin[i] = std::sin(2 + double(i));
    reference::ropeForward(x.data(), cos.data(), sin.data(), tokens, heads, headDim, y.data());
    reference::ropeBackward(dy.data(), cos.data(), sin.data(), tokens, heads, headDim, dx.data());
    for (size_t row = 0; row < size_t(tokens * heads); ++row) {
        double forward = 0, backward = 0;
        for (size_t i = row * size_t(headDim); i < (row + 1) * size_t(headDim); ++i) {
            forward += dy[i] * y[i];
            backward += dx[i] * x[i];
        }
        EXPECT_NEAR(forward, backward, 1e-13) << row;
    }
}

} // namespace
