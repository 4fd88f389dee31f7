// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_cross_entropy/linear_cross_entropy_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <vector>

using namespace fusescope::kernels;

namespace {

constexpr int64_t ignored = -100;
constexpr double byValid = -1;

TEST(LinearCrossEntropy, ByHand) {
    // z = (2, 0); lse = log(e^2 + 1), so the loss of label 1 is 2.1269..., and p = (0.8808, 0.1192).
    const double x[] = {2}, weight[] = {1, 0};
    const int64_t labels[] = {1};
    double dx[1], dweight[2];
    const reference::LinearCrossEntropy call{x, weight, labels, 1, 1, 2, ignored, byValid};
    EXPECT_NEAR(reference::linearCrossEntropy(call, dx, dweight), 2.1269280110429727, 1e-15);
    EXPECT_NEAR(dx[0], 0.88079707797788243, 1e-15);
    EXPECT_NEAR(dweight[0], 2 * 0.88079707797788243, 1e-15);
    EXPECT_NEAR(dweight[1], -2 * 0.88079707797788243, 1e-15);
}

TEST(LinearCrossEntropy, GradientsAreTheSlopeOfTheLoss) {
    const int64_t tokens = 4, hidden = 3, vocab = 5;
    const double h = 1e-6;
    for (double divisor : {byValid, 7.}) {
        std::vector<double> x(tokens * hidden), weight(vocab * hidden), dx(x.size()), dweight(weight.size());
        for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(double(i) + 1);
        for (size_t i = 0; i < weight.size(); ++i) weight[i] = std::cos(2 * double(i));
        const int64_t labels[] = {3, ignored, 0, 3};
        const reference::LinearCrossEntropy call{x.data(), weight.data(), labels,  tokens,
                                                 hidden,   vocab,         ignored, divisor};
        reference::linearCrossEntropy(call, dx.data(), dweight.data());
        auto slope = [&](double& at) {
            const double kept = at;
            at = kept + h;
            const double above = reference::linearCrossEntropy(call, nullptr, nullptr);
            at = kept - h;
            const double below = reference::linearCrossEntropy(call, nullptr, nullptr);
            at = kept;
            return (above - below) / (2 * h);
        };
        for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dx[i], slope(x[i]), 1e-8) << i;
        for (size_t i = 0; i < weight.size(); ++i) EXPECT_NEAR(dweight[i], slope(weight[i]), 1e-8) << i;
    }
}

TEST(LinearCrossEntropy, AnOffsetCommonToAllLogitsChangesNothing) {
    const double plain[] = {1, 2, 3}, raised[] = {100001, 100002, 100003}, x[] = {1};
    const int64_t labels[] = {1};
    const reference::LinearCrossEntropy a{x, plain, labels, 1, 1, 3, ignored, byValid};
    const reference::LinearCrossEntropy b{x, raised, labels, 1, 1, 3, ignored, byValid};
    EXPECT_NEAR(reference::linearCrossEntropy(a, nullptr, nullptr), reference::linearCrossEntropy(b, nullptr, nullptr),
                1e-12);
}

TEST(LinearCrossEntropy, AllIgnoredIsNanWithZeroGradients) {
    const double x[] = {1, 2}, weight[] = {1, 2, 3};
    const int64_t labels[] = {ignored, ignored};
    double dx[] = {7, 7}, dweight[] = {7, 7, 7};
    const reference::LinearCrossEntropy call{x, weight, labels, 2, 1, 3, ignored, byValid};
    EXPECT_TRUE(std::isnan(reference::linearCrossEntropy(call, dx, dweight)));
    for (double d : dx) EXPECT_EQ(d, 0);
    for (double d : dweight) EXPECT_EQ(d, 0);
}

TEST(LinearCrossEntropy, ALabelOutsideTheVocabularyIsNan) {
    const double x[] = {1, 2}, weight[] = {1, 2, 3};
    for (int64_t wrong : {int64_t{-1}, int64_t{3}}) {
        const int64_t labels[] = {0, wrong};
        double dx[2];
        const reference::LinearCrossEntropy call{x, weight, labels, 2, 1, 3, ignored, byValid};
        EXPECT_TRUE(std::isnan(reference::linearCrossEntropy(call, dx, nullptr)));
        EXPECT_TRUE(std::isfinite(dx[0]));
        EXPECT_TRUE(std::isnan(dx[1]));
    }
}

} // namespace
