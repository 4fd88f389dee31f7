// SPDX-License-Identifier: Apache-2.0
// Forward of qk_norm_rope. The lanes of a head hold it whole, each the matching 16 bytes of its two halves: the norm is
// a sum over those lanes and the rotation stays in a thread. A thread belongs to one token, whose part of the tables it
// keeps in registers while it walks over the heads of q, then of k.
#include "kernels/common/checks.h"
#include "kernels/common/error.h"
#include "kernels/common/heads_checks.h"
#include "kernels/common/launch.h"
#include "kernels/common/reduce.cuh"
#include "kernels/qk_norm_rope/head_dims.cuh"
#include "kernels/qk_norm_rope/qk_norm_rope_call.h"
#include "kernels/rope/rotate.cuh"

#include <algorithm>

namespace fusescope::kernels {
namespace {

/// q's or k's.
template <class T> struct Part {
    Heads<const T> in;
    Heads<T> out;
    const T* weight;
    float* rstd;
    int heads;
};

template <class T> struct Arguments {
    Part<T> part[2];
    Rotary<T> rotary;
    int64_t tokens; // of all batches
    int64_t tokensOfBatch;
    int64_t headDim;
    float inverseHeadDim;
    float eps;
};

constexpr int inFlight = 2, maxThreads = 256;

/// Block: (lanes, heads side by side, tokens), whole warps.
template <class T, int Lanes, bool Once>
__global__ void __launch_bounds__(maxThreads, 3) qkNormRope(const __grid_constant__ Arguments<T> a) {
    constexpr int n = vecWidth<T>, half = Lanes * n;
    const int column = threadIdx.x * n;
    const int64_t token = int64_t(blockIdx.x) * blockDim.z + threadIdx.z;
    const bool tokenInside = token < a.tokens;
    int64_t batch, place;
    splitToken(tokenInside ? token : 0, a.tokensOfBatch, batch, place);
    TableRow<T, n> table;
    table.load(a.rotary, a.rotary.token(batch, place), column, half);

#pragma unroll 1
    for (int which = blockIdx.y; which < 2; which += gridDim.y) {
        const Part<T>& p = a.part[which];
        const int heads = p.heads, slots = blockDim.y;
        if (heads == 0) continue;
        const T* in = p.in.token(batch, place) + column;
        T* out = p.out.token(batch, place) + column;
        const Vec<T, n> weightX = loadShared<n>(p.weight + column), weightY = loadShared<n>(p.weight + column + half);

        // The bounds of the loop are the same for all lanes of a warp: sumLanes() needs them all.
        for (int first = 0; first < heads; first += slots * inFlight) {
            Vec<T, n> x[inFlight], y[inFlight];
#pragma unroll
            for (int u = 0; u < inFlight; ++u) {
                const int head = first + u * slots + threadIdx.y;
                if (head >= heads || !tokenInside) continue;
                x[u] = loadOnce<n>(in + head * p.in.headStride);
                y[u] = loadOnce<n>(in + head * p.in.headStride + half);
            }
#pragma unroll
            for (int u = 0; u < inFlight; ++u) {
                const int head = first + u * slots + threadIdx.y;
                float fx[n], fy[n], squares = 0.f;
                unpack(x[u], fx);
                unpack(y[u], fy);
#pragma unroll
                for (int i = 0; i < n; ++i) squares += fx[i] * fx[i] + fy[i] * fy[i];
                const float r = rsqrtf(sumLanes<Lanes>(squares) * a.inverseHeadDim + a.eps);
                if (head >= heads || !tokenInside) continue;
#pragma unroll
                for (int i = 0; i < n; ++i) {
                    fx[i] *= r;
                    fy[i] *= r;
                }
                if constexpr (Once) {
                    table.stayPacked();
#pragma unroll
                    for (int i = 0; i < n; ++i) {
                        fx[i] *= toFloat(weightX.e[i]);
                        fy[i] *= toFloat(weightY.e[i]);
                    }
                    rotate<false>(fx, fy, table);
                    x[u] = packed<T>(fx);
                    y[u] = packed<T>(fy);
                } else {
                    x[u] = multiply(weightX, packed<T>(fx));
                    y[u] = multiply(weightY, packed<T>(fy));
                    rotate<false>(x[u], y[u], table);
                }
                store<n>(out + head * p.out.headStride, x[u]);
                store<n>(out + head * p.out.headStride + half, y[u]);
                if (p.rstd && threadIdx.x == 0) p.rstd[token * heads + head] = r;
            }
        }
    }
}

/// Any head_dim, any alignment: a warp walks over heads.
template <class T, bool Once>
__global__ void __launch_bounds__(256) qkNormRopePlain(const __grid_constant__ Arguments<T> a) {
    const int64_t half = a.headDim / 2;
    const int lane = threadIdx.x % 32, allHeads = a.part[0].heads + a.part[1].heads;
    const int64_t step = int64_t(gridDim.x) * (blockDim.x / 32);
    for (int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32; row < a.tokens * allHeads; row += step) {
        int64_t token, head, batch, place;
        splitToken(row, allHeads, token, head);
        splitToken(token, a.tokensOfBatch, batch, place);
        const Part<T>& p = a.part[head >= a.part[0].heads];
        if (head >= a.part[0].heads) head -= a.part[0].heads;
        const T* in = p.in.token(batch, place) + head * p.in.headStride;
        T* out = p.out.token(batch, place) + head * p.out.headStride;
        const int64_t table = a.rotary.token(batch, place);

        float squares = 0.f;
        for (int64_t i = lane; i < a.headDim; i += 32) squares += toFloat(in[i]) * toFloat(in[i]);
        const float r = rsqrtf(sumLanes<32>(squares) * a.inverseHeadDim + a.eps);
        // Other lanes may read what a lane writes here when the output is the input itself.
        __syncwarp();
        auto normed = [&](int64_t i) {
            const float h = toFloat(in[i]) * r, w = toFloat(p.weight[i]);
            return Once ? w * h : rounded<T>(w * rounded<T>(h));
        };
        for (int64_t i = lane; i < half; i += 32) {
            float x = normed(i), y = normed(i + half);
            rotatePair<false, Once>(x, y, a.rotary.cos + table, a.rotary.sin + table, i, half);
            out[i] = fromFloat<T>(x);
            out[i + half] = fromFloat<T>(y);
        }
        if (p.rstd && lane == 0) p.rstd[token * p.heads + head] = r;
    }
}

template <class T, bool Once>
FsStatus launch(const FsQkNormRopeForward& c, const DeviceFacts& device, cudaStream_t stream) {
    Arguments<T> a;
    a.part[0] = {typed<const T>(c.q), typed<T>(c.q_out), static_cast<const T*>(c.q_weight), c.q_rstd, int(c.q.heads)};
    a.part[1] = {typed<const T>(c.k), typed<T>(c.k_out), static_cast<const T*>(c.k_weight), c.k_rstd, int(c.k.heads)};
    a.rotary = typed<T>(c.rotary);
    a.tokens = c.batch * c.tokens;
    a.tokensOfBatch = c.tokens;
    a.headDim = c.head_dim;
    a.inverseHeadDim = 1.f / float(c.head_dim);
    a.eps = float(c.eps);

    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    auto aligned = [&](const FsHeads& in, const FsHeads& out, const void* weight) {
        return in.heads == 0 ||
               (aligned16(in, shape, sizeof(T)) && aligned16(out, shape, sizeof(T)) && aligned16(weight));
    };
    const int lanes = lanesOf<T>(c.head_dim);
    const bool vectorised = lanes > 0 && a.tokens <= INT32_MAX && aligned(c.q, c.q_out, c.q_weight) &&
                            aligned(c.k, c.k_out, c.k_weight) && aligned16(c.rotary, shape, sizeof(T));
    if (!vectorised || c.hint.variant < 0) {
        const int64_t rows = a.tokens * (c.q.heads + c.k.heads);
        qkNormRopePlain<T, Once><<<persistentGrid(device, 8, (rows + 7) / 8), 256, 0, stream>>>(a);
        return checkLaunch("qk_norm_rope forward, any head_dim");
    }

    // As in rope: many tokens, several in a block; few, a block each for the heads of q and those of k.
    const int threads = c.hint.threads > 0 ? std::clamp(c.hint.threads / 32 * 32, 32, maxThreads) : maxThreads;
    const int groups = threads / lanes;
    int tokens = 4;
    while (tokens > 1 && a.tokens < int64_t{4} * tokens * device.multiprocessors) tokens /= 2;
    if (c.hint.variant > 0) tokens = c.hint.variant;
    int slots = 1; // a power of two, as the lanes and so the tokens are: the block is whole warps
    while (slots * 2 <= groups / std::min(tokens, groups) && slots < std::max(c.q.heads, c.k.heads)) slots *= 2;
    while (tokens * slots * lanes % 32 != 0) tokens *= 2;
    tokens = std::min(tokens, groups / slots);
    const dim3 block{unsigned(lanes), unsigned(slots), unsigned(tokens)};
    const dim3 grid{unsigned((a.tokens + tokens - 1) / tokens), a.tokens < device.multiprocessors ? 2u : 1u};
    return withLanes<T>(lanes, [&](auto known) {
        qkNormRope<T, decltype(known)::value, Once><<<grid, block, 0, stream>>>(a);
        return checkLaunch("qk_norm_rope forward");
    });
}

} // namespace

FsStatus launchQkNormRopeForward(const FsQkNormRopeForward& c, cudaStream_t stream) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    return withElementType(c.dtype, c.rounding, [&](auto type, auto once) {
        return launch<typename decltype(type)::Type, decltype(once)::value>(c, device, stream);
    });
}

} // namespace fusescope::kernels
