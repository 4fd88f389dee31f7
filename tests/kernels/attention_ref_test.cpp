// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_ref.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace fusescope::kernels;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> waves(int64_t n, double step) {
    std::vector<double> x(static_cast<size_t>(n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(step * double(i) + step);
    return x;
}

TEST(Attention, ByHand) {
    // Scores 0 and log 3, so the weights are 1/4 and 3/4: out = 1/4 * 4 + 3/4 * 8, lse = log 4.
    const double q[] = {2}, k[] = {0, std::log(3.0)}, v[] = {4, 8};
    double out[1], lse[1];
    const reference::Attention call{q, k, v, 1, 1, 1, 1, 2, 1, 0.5};
    reference::attentionForward(call, out, lse);
    EXPECT_NEAR(out[0], 7, 1e-14);
    EXPECT_NEAR(lse[0], std::log(4.0), 1e-14);

    // dv = p * dout; dp = dout * v, delta = dout * out, dscore = p * (dp - delta) = 1/4 * -3 and 3/4 * 1.
    const double dout[] = {1};
    double dq[1], dk[2], dv[2];
    reference::attentionBackward(call, out, dout, dq, dk, dv, nullptr);
    EXPECT_NEAR(dv[0], 0.25, 1e-14);
    EXPECT_NEAR(dv[1], 0.75, 1e-14);
    EXPECT_NEAR(dq[0], 0.5 * 0.75 * std::log(3.0), 1e-14);
    EXPECT_NEAR(dk[0], 0.5 * 2 * -0.75, 1e-14);
    EXPECT_NEAR(dk[1], 0.5 * 2 * 0.75, 1e-14);
}

TEST(Attention, GradientsAreTheSlopeOfTheOutput) {
    const int64_t batch = 2, qHeads = 4, kvHeads = 2, headDim = 3;
    const double h = 1e-6;
    for (const bool causal : {false, true})
        for (const int64_t qTokens : {2, 5}) {
            const int64_t kvTokens = 4;
            std::vector<double> q = waves(batch * qHeads * qTokens * headDim, 0.7),
                                k = waves(batch * kvHeads * kvTokens * headDim, 1.3),
                                v = waves(batch * kvHeads * kvTokens * headDim, 2.1),
                                mask = waves(batch * qTokens * kvTokens, 0.4), dout = waves(int64_t(q.size()), 3.3);
            mask[1] = -infinity;
            std::vector<double> out(q.size()), lse(size_t(batch * qHeads * qTokens));
            std::vector<double> dq(q.size()), dk(k.size()), dv(v.size()), dmask(mask.size());
            const reference::Attention call{q.data(),
                                            k.data(),
                                            v.data(),
                                            batch,
                                            qHeads,
                                            kvHeads,
                                            qTokens,
                                            kvTokens,
                                            headDim,
                                            0.6,
                                            causal,
                                            mask.data(),
                                            {qTokens * kvTokens, 0, kvTokens, 1}};
            reference::attentionForward(call, out.data(), lse.data());
            reference::attentionBackward(call, out.data(), dout.data(), dq.data(), dk.data(), dv.data(), dmask.data());
            auto weighed = [&] {
                std::vector<double> moved(q.size()), movedLse(lse.size());
                reference::attentionForward(call, moved.data(), movedLse.data());
                double sum = 0;
                for (size_t i = 0; i < moved.size(); ++i) sum += moved[i] * dout[i];
                return sum;
            };
            auto expectSlopes = [&](std::vector<double>& x, const std::vector<double>& gradient, const char* name) {
                for (size_t i = 0; i < x.size(); ++i) {
                    if (std::isinf(x[i])) continue;
                    const double kept = x[i];
                    x[i] = kept + h;
                    const double above = weighed();
                    x[i] = kept - h;
                    const double below = weighed();
                    x[i] = kept;
                    EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 1e-7) << name << " " << i;
                }
            };
            expectSlopes(q, dq, "q");
            expectSlopes(k, dk, "k");
            expectSlopes(v, dv, "v");
            expectSlopes(mask, dmask, "mask");
        }
}

TEST(Attention, CausalCountsFromTheStart) {
    // All scores alike: out is the mean of the values that a query sees.
    const double q[] = {0, 0, 0}, k[] = {1, 1}, v[] = {2, 4};
    double out[3], lse[3];
    const reference::Attention moreQueries{q, k, v, 1, 1, 1, 3, 2, 1, 1, true};
    reference::attentionForward(moreQueries, out, lse);
    EXPECT_EQ(out[0], 2);
    EXPECT_EQ(out[1], 3);
    EXPECT_EQ(out[2], 3);
    const reference::Attention moreKeys{q, k, v, 1, 1, 1, 1, 2, 1, 1, true};
    reference::attentionForward(moreKeys, out, lse);
    EXPECT_EQ(out[0], 2);
    EXPECT_EQ(lse[0], 0);
}

TEST(Attention, ARowThatSeesNothingIsZeroWithoutGradients) {
    const double q[] = {1, 1}, k[] = {1, 2}, v[] = {3, 4}, mask[] = {-infinity, -infinity, 0, 0}, dout[] = {1, 0};
    double out[2], lse[2], dq[2] = {7, 7}, dk[2] = {7, 7}, dv[2] = {7, 7};
    const reference::Attention call{q, k, v, 1, 1, 1, 2, 2, 1, 1, false, mask, {0, 0, 2, 1}};
    reference::attentionForward(call, out, lse);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(lse[0], -infinity);
    EXPECT_GT(out[1], 3);
    reference::attentionBackward(call, out, dout, dq, dk, dv, nullptr);
    for (const double* gradient : {dq, dk, dv}) {
        EXPECT_EQ(gradient[0], 0);
        EXPECT_EQ(gradient[1], 0);
    }
}

TEST(Attention, LargeScoresDoNotOverflow) {
    const double q[] = {1e3}, k[] = {1e3, 1e3 - 1e-3}, v[] = {1, 2};
    double out[1], lse[1];
    const reference::Attention call{q, k, v, 1, 1, 1, 1, 2, 1, 1};
    reference::attentionForward(call, out, lse);
    // The scores differ by 1: weights 1 / (1 + 1/e) and the rest.
    EXPECT_NEAR(out[0], 1 + 1 / (1 + std::exp(1.0)), 1e-9);
    EXPECT_NEAR(lse[0], 1e6 + std::log1p(std::exp(-1.0)), 1e-9);

    // As masks with the smallest number instead of -inf make them: the scores are all alike.
    const double lowest = std::numeric_limits<double>::lowest() / 2, mask[] = {lowest, lowest}, dout[] = {4};
    const reference::Attention masked{q, k, v, 1, 1, 1, 1, 2, 1, 1, false, mask, {0, 0, 0, 1}};
    reference::attentionForward(masked, out, lse);
    EXPECT_EQ(out[0], 1.5);
    double dq[1], dk[2], dv[2];
    reference::attentionBackward(masked, out, dout, dq, dk, dv, nullptr);
    EXPECT_EQ(dv[0], 2);
}

} // namespace
