// SPDX-License-Identifier: Apache-2.0
// Rotary embedding, both directions. A thread owns 16 bytes of the first half of a head and the 16 bytes that go with
// them in the second, so the rotation happens in registers; it belongs to one token and walks over that token's heads
// of q and then k, with its part of the tables kept in registers.
#include "kernels/common/checks.h"
#include "kernels/common/element_types.cuh"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"
#include "kernels/common/launch.h"
#include "kernels/rope/rope_call.h"
#include "kernels/rope/rotate.cuh"

#include <algorithm>

namespace fusescope::kernels {
namespace {

template <class T> struct Arguments {
    Heads<const T> q, k;
    Heads<T> qOut, kOut;
    Rotary<T> rotary;
    int64_t tokens; // of all batches
    int64_t tokensOfBatch;
    int64_t headDim;
    int qHeads, heads; // heads: q's and k's
};

/// Where a token's heads of q and k are, and from a number on, where that head is.
template <class T> struct TokenHeads {
    T* q;
    T* k;
    int64_t qStride, kStride;
    int qHeads;

    __device__ __forceinline__ TokenHeads(const Heads<T>& ofQ, const Heads<T>& ofK, int64_t batch, int64_t place, int n)
        : q(ofQ.token(batch, place)), k(ofK.token(batch, place)), qStride(ofQ.headStride), kStride(ofK.headStride),
          qHeads(n) {}
    __device__ __forceinline__ T* head(int h) const {
        const bool ofQ = h < qHeads; // selected, not branched on: a warp may have heads of both
        return (ofQ ? q : k) + (ofQ ? h : h - qHeads) * (ofQ ? qStride : kStride);
    }
};

constexpr int inFlight = 2, maxThreads = 256;

/// Block: (lanes of a head, heads side by side, tokens).
template <class T, bool Backward, bool Once>
__global__ void __launch_bounds__(maxThreads, Once ? 3 : 4) ropeVectors(Arguments<T> a) {
    constexpr int n = vecWidth<T>;
    const int column = threadIdx.x * n, half = int(a.headDim / 2);
    const int64_t token = int64_t(blockIdx.x) * blockDim.z + threadIdx.z;
    if (token >= a.tokens) return;
    int64_t batch, place;
    splitToken(token, a.tokensOfBatch, batch, place);
    const TokenHeads<const T> in(a.q, a.k, batch, place, a.qHeads);
    const TokenHeads<T> out(a.qOut, a.kOut, batch, place, a.qHeads);
    TableRow<T, n> table;
    table.load(a.rotary, a.rotary.token(batch, place), column, half);

    const int step = gridDim.y * blockDim.y;
    for (int first = blockIdx.y * blockDim.y + threadIdx.y; first < a.heads; first += step * inFlight) {
        Vec<T, n> x[inFlight], y[inFlight];
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            if (first + u * step >= a.heads) continue;
            const T* p = in.head(first + u * step) + column;
            x[u] = loadOnce<n>(p);
            y[u] = loadOnce<n>(p + half);
        }
#pragma unroll
        for (int u = 0; u < inFlight; ++u) {
            if (first + u * step >= a.heads) continue;
            if constexpr (Once) {
                float fx[n], fy[n];
                table.stayPacked();
                unpack(x[u], fx);
                unpack(y[u], fy);
                rotate<Backward>(fx, fy, table);
                x[u] = packed<T>(fx);
                y[u] = packed<T>(fy);
            } else {
                rotate<Backward>(x[u], y[u], table);
            }
            T* p = out.head(first + u * step) + column;
            store<n>(p, x[u]);
            store<n>(p + half, y[u]);
        }
    }
}

/// Any head_dim, any alignment: a warp walks over heads.
template <class T, bool Backward, bool Once> __global__ void __launch_bounds__(256) ropePlain(Arguments<T> a) {
    const int64_t half = a.headDim / 2, rows = a.tokens * a.heads;
    const int64_t step = int64_t(gridDim.x) * (blockDim.x / 32);
    for (int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32; row < rows; row += step) {
        int64_t token, head, batch, place;
        splitToken(row, a.heads, token, head);
        splitToken(token, a.tokensOfBatch, batch, place);
        const T* in = TokenHeads<const T>(a.q, a.k, batch, place, a.qHeads).head(int(head));
        T* out = TokenHeads<T>(a.qOut, a.kOut, batch, place, a.qHeads).head(int(head));
        const int64_t table = a.rotary.token(batch, place);
        for (int64_t i = threadIdx.x % 32; i < half; i += 32) {
            float x = toFloat(in[i]), y = toFloat(in[i + half]);
            rotatePair<Backward, Once>(x, y, a.rotary.cos + table, a.rotary.sin + table, i, half);
            out[i] = fromFloat<T>(x);
            out[i + half] = fromFloat<T>(y);
        }
    }
}

template <class T, bool Backward, bool Once>
FsStatus launch(const FsRope& c, const DeviceFacts& device, cudaStream_t stream) {
    Arguments<T> a;
    a.q = typed<const T>(c.q);
    a.k = typed<const T>(c.k);
    a.qOut = typed<T>(c.q_out);
    a.kOut = typed<T>(c.k_out);
    a.rotary = typed<T>(c.rotary);
    a.tokens = c.batch * c.tokens;
    a.tokensOfBatch = c.tokens;
    a.headDim = c.head_dim;
    a.qHeads = int(c.q.heads);
    a.heads = int(c.q.heads + c.k.heads);

    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    auto aligned = [&](const FsHeads& h) { return h.heads == 0 || aligned16(h, shape, sizeof(T)); };
    const int64_t lanes = c.head_dim / 2 / vecWidth<T>;
    const bool vectorised = c.head_dim % (2 * vecWidth<T>) == 0 && lanes <= maxThreads && a.tokens <= INT32_MAX &&
                            aligned(c.q) && aligned(c.k) && aligned(c.q_out) && aligned(c.k_out) &&
                            aligned16(c.rotary, shape, sizeof(T));
    if (!vectorised || c.hint.variant < 0) {
        ropePlain<T, Backward, Once><<<persistentGrid(device, 8, (a.tokens * a.heads + 7) / 8), 256, 0, stream>>>(a);
        return checkLaunch("rope, any head_dim");
    }

    // Many tokens: neighbours share a block, so that its accesses are near each other also where the heads of a token
    // are far apart, and each thread has several heads for one read of the tables. Few: a block a token.
    int64_t groups =
        std::max<int64_t>((c.hint.threads > 0 ? std::min(c.hint.threads, maxThreads) : maxThreads) / lanes, 1);
    int64_t tokens = 4;
    while (tokens > 1 && a.tokens < 4 * tokens * device.multiprocessors) tokens /= 2;
    if (c.hint.variant > 0) tokens = c.hint.variant;
    tokens = std::min({tokens, groups, int64_t{64}}); // 64: the most blockDim.z may be
    const int64_t slots = std::min<int64_t>(groups / tokens, a.heads);
    const int64_t walks = (a.heads + slots * inFlight - 1) / (slots * inFlight);
    const unsigned gridY = a.tokens < device.multiprocessors ? unsigned(std::min<int64_t>(walks, 65535)) : 1;
    const dim3 block{unsigned(lanes), unsigned(slots), unsigned(tokens)};
    const dim3 grid{unsigned((a.tokens + tokens - 1) / tokens), gridY};
    ropeVectors<T, Backward, Once><<<grid, block, 0, stream>>>(a);
    return checkLaunch("rope");
}

template <bool Backward> FsStatus launchTyped(const FsRope& c, const DeviceFacts& device, cudaStream_t stream) {
    return withElementType(c.dtype, [&](auto type) {
        using T = typename decltype(type)::Type;
        return c.rounding == FS_ROUND_ONCE ? launch<T, Backward, true>(c, device, stream)
                                           : launch<T, Backward, false>(c, device, stream);
    });
}

} // namespace

FsStatus launchRope(const FsRope& c, bool backward, cudaStream_t stream) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    return backward ? launchTyped<true>(c, device, stream) : launchTyped<false>(c, device, stream);
}

} // namespace fusescope::kernels
