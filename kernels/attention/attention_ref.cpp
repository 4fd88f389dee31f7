// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention/attention_ref.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace fusescope::kernels::reference {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Four sums, so that the processor need not wait for each addition.
double dot(const double* a, const double* b, int64_t n) {
    double sums[4] = {};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int64_t j = 0; j < 4; ++j) sums[j] += a[i + j] * b[i + j];
    for (; i < n; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void addScaled(double* to, double factor, const double* from, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

/// One query of one head: where its row of q, its head of k and v and its row of the mask begin.
struct Row {
    int64_t query; ///< the row among those of q, out and lse
    int64_t head;  ///< the first element of k and v
    int64_t mask;  ///< the first element of the mask
    int64_t keys;  ///< how many keys it may see
};

template <typename Function> void forEachRow(const Attention& call, Function function) {
    const int64_t group = call.kvHeads > 0 ? call.qHeads / call.kvHeads : 1;
    for (int64_t b = 0, query = 0; b < call.batch; ++b)
        for (int64_t h = 0; h < call.qHeads; ++h)
            for (int64_t i = 0; i < call.qTokens; ++i, ++query)
                function(Row{query, (b * call.kvHeads + h / group) * call.kvTokens * call.headDim,
                             b * call.maskStride[0] + h * call.maskStride[1] + i * call.maskStride[2],
                             call.causal ? std::min(i + 1, call.kvTokens) : call.kvTokens});
}

void scoresOf(const Attention& call, const Row& row, std::vector<double>& scores) {
    const double* q = call.q + row.query * call.headDim;
    for (int64_t j = 0; j < row.keys; ++j) {
        double& score = scores[size_t(j)];
        score = call.scale * dot(q, call.k + row.head + j * call.headDim, call.headDim);
        if (call.mask) score += call.mask[row.mask + j * call.maskStride[3]];
    }
}

/// The scores as the probabilities of the keys, and the logarithm of the sum of their exponentials (-inf, and no
/// probabilities, for a row that sees nothing). Divides by the sum, because scores like -1e308 swallow its logarithm.
double toProbabilities(std::vector<double>& scores, int64_t keys) {
    double largest = -infinity;
    bool nan = false;
    for (int64_t j = 0; j < keys; ++j) {
        nan = nan || std::isnan(scores[size_t(j)]);
        largest = std::max(largest, scores[size_t(j)]);
    }
    if (largest == -infinity && !nan) return largest;
    double sum = 0;
    for (int64_t j = 0; j < keys; ++j) sum += scores[size_t(j)] = std::exp(scores[size_t(j)] - largest);
    for (int64_t j = 0; j < keys; ++j) scores[size_t(j)] /= sum;
    return largest + std::log(sum);
}

} // namespace

void attentionForward(const Attention& call, double* out, double* lse) {
    std::vector<double> scores(size_t(call.kvTokens));
    forEachRow(call, [&](const Row& row) {
        double* o = out + row.query * call.headDim;
        std::fill_n(o, call.headDim, 0.0);
        scoresOf(call, row, scores);
        lse[row.query] = toProbabilities(scores, row.keys);
        if (lse[row.query] == -infinity) return;
        for (int64_t j = 0; j < row.keys; ++j)
            addScaled(o, scores[size_t(j)], call.v + row.head + j * call.headDim, call.headDim);
    });
}

void attentionBackward(const Attention& call, const double* out, const double* dout, double* dq, double* dk, double* dv,
                       double* dmask) {
    const int64_t n = call.headDim;
    std::fill_n(dq, call.batch * call.qHeads * call.qTokens * n, 0.0);
    std::fill_n(dk, call.batch * call.kvHeads * call.kvTokens * n, 0.0);
    std::fill_n(dv, call.batch * call.kvHeads * call.kvTokens * n, 0.0);
    std::vector<double> scores(size_t(call.kvTokens));
    forEachRow(call, [&](const Row& row) {
        const int64_t first = row.query * n;
        const double delta = dot(dout + first, out + first, n);
        scoresOf(call, row, scores);
        if (toProbabilities(scores, row.keys) == -infinity) return;
        for (int64_t j = 0; j < row.keys; ++j) {
            const double p = scores[size_t(j)];
            const int64_t key = row.head + j * n;
            const double dscore = p * (dot(dout + first, call.v + key, n) - delta);
            addScaled(dv + key, p, dout + first, n);
            addScaled(dq + first, call.scale * dscore, call.k + key, n);
            addScaled(dk + key, call.scale * dscore, call.q + first, n);
            if (dmask) dmask[row.mask + j * call.maskStride[3]] += dscore;
        }
    });
}

} // namespace fusescope::kernels::reference
