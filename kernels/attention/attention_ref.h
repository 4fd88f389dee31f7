// SPDX-License-Identifier: Apache-2.0
// Scaled dot product attention in fp64 on the CPU: what every backend is compared with.
#pragma once

#include <array>
#include <cstdint>

namespace fusescope::kernels::reference {

/// q is [batch][qHeads][qTokens][headDim]; k and v are [batch][kvHeads][kvTokens][headDim]. qHeads is a multiple of
/// kvHeads: query head h reads k and v of head h / (qHeads / kvHeads).
struct Attention {
    const double* q;
    const double* k;
    const double* v;
    int64_t batch;
    int64_t qHeads;
    int64_t kvHeads;
    int64_t qTokens;
    int64_t kvTokens;
    int64_t headDim;
    double scale;
    /// Query i sees the keys 0 to i (counted from the start, whatever the lengths are).
    bool causal = false;
    /// Added to the scaled scores (-inf: not attended), or null. Strides of batch, head, query and key; 0 broadcasts.
    const double* mask = nullptr;
    std::array<int64_t, 4> maskStride{};
};

/// out is laid out as q; lse, [batch][qHeads][qTokens], is the logarithm of the sum of the exponentials of a row's
/// scores. A row that sees nothing gives 0 and an lse of -inf.
void attentionForward(const Attention& call, double* out, double* lse);

/// The gradients of q, k, v, and unless null of the mask: dmask is laid out as the mask and is added to.
void attentionBackward(const Attention& call, const double* out, const double* dout, double* dq, double* dk, double* dv,
                       double* dmask);

} // namespace fusescope::kernels::reference
