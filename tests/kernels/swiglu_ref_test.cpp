// SPDX-License-Identifier: Apache-2.0
#include "kernels/swiglu/swiglu_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace fusescope::kernels;

namespace {

TEST(Swiglu, ByHand) {
    // gate = ln 3: 1 / (1 + 1/3) = 3/4; gate = -ln 3: 1/4
    const double ln3 = std::log(3.), gate[] = {ln3, -ln3, 0}, up[] = {2, 8, 5};
    double h[3];
    reference::swigluForward(gate, up, 1, 3, 3, h);
    EXPECT_NEAR(h[0], 1.5 * ln3, 1e-15);
    EXPECT_NEAR(h[1], -2 * ln3, 1e-15);
    EXPECT_EQ(h[2], 0);
}

TEST(Swiglu, BackwardIsTheSlopeOfForward) {
    // Packed rows [gate | up], so that the stride of the inputs differs from the width.
    const int64_t rows = 3, width = 4;
    const double step = 1e-6;
    std::vector<double> packed(rows * 2 * width), slopes(packed.size()), dh(rows * width);
    for (size_t i = 0; i < packed.size(); ++i) packed[i] = 3 * std::sin(double(i) + 1);
    for (size_t i = 0; i < dh.size(); ++i) dh[i] = std::cos(3 * double(i));
    reference::swigluBackward(dh.data(), packed.data(), packed.data() + width, rows, width, 2 * width, slopes.data(),
                              slopes.data() + width);

    auto weighedSum = [&] {
        std::vector<double> h(rows * width);
        reference::swigluForward(packed.data(), packed.data() + width, rows, width, 2 * width, h.data());
        double sum = 0;
        for (size_t i = 0; i < h.size(); ++i) sum += h[i] * dh[i];
        return sum;
    };
    for (size_t i = 0; i < packed.size(); ++i) {
        const double kept = packed[i];
        packed[i] = kept + step;
        const double above = weighedSum();
        packed[i] = kept - step;
        const double below = weighedSum();
        packed[i] = kept;
        EXPECT_NEAR(slopes[i], (above - below) / (2 * step), 1e-8) << i;
    }
}

TEST(Swiglu, FarFromZero) {
    const double infinity = std::numeric_limits<double>::infinity();
    const double gate[] = {1000, -1000, infinity}, up[] = {2, 2, 2}, dh[] = {1, 1, 1};
    double h[3], dgate[3], dup[3];
    reference::swigluForward(gate, up, 1, 3, 3, h);
    EXPECT_EQ(h[0], 2000);
    EXPECT_EQ(h[1], 0);
    EXPECT_EQ(h[2], infinity);
    reference::swigluBackward(dh, gate, up, 1, 2, 2, dgate, dup);
    EXPECT_EQ(dgate[0], 2);
    EXPECT_EQ(dgate[1], 0);
    EXPECT_EQ(dup[0], 1000);
    EXPECT_EQ(dup[1], 0);
}

} // namespace
