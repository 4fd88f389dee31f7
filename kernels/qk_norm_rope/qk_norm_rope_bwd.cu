// SPDX-License-Identifier: Apache-2.0
// Backward of qk_norm_rope: the rotation's transpose and the norm's backward in one pass over the gradient and x. A
// persistent grid, shared out between q and k by their work; a block keeps the sums for its weight's gradient in
// registers, a second kernel adds the blocks' sums.
#include "kernels/common/async_copy.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/column_sums.cuh"
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

/// How far a pointer moves through one tensor, in elements.
struct Walk {
    int64_t head;  // from a head to the one that the same lanes take next
    int64_t token; // from after a token's last head to the first of the token that the same lanes take next
    int64_t wrap;  // more than that when a batch ends between
};

/// q's or k's.
template <class T> struct Part {
    Heads<const T> dy, x;
    Heads<T> dx;
    Walk dyWalk, xWalk, dxWalk, tableWalk;
    const T* weight;
    const float* rstd;
    T* dweight;        // null when it is not wanted
    float* partial;    // [blocks][headDim]
    int64_t step;      // from a token to the one that the same lanes take next,
    int64_t stepPlace; // and what that is past whole batches
    int heads;
    int slots; // heads of a token that a block works on side by side, a power of two
    int blocks;
};

template <class T> struct Arguments {
    Part<T> part[2]; // the first part's blocks come first in the grid
    Rotary<T> rotary;
    int64_t tokens; // of all batches
    int64_t tokensOfBatch;
    int64_t headDim;
    float inverseHeadDim;
};

constexpr int threads = 256, blocksPerSm = 2;

/// Heads that a group of lanes works on at once, and such lots that are in shared memory or on their way there: the
/// copies run ahead of the arithmetic, whose chain from a load to the sum over a head would else leave the bus idle.
constexpr int atOnce = 2, stages = 2;
constexpr int sharedBytes = stages * atOnce * threads * (2 * 16 + 4);

template <class T, int N> __device__ __forceinline__ Vec<T, N> shuffled(const Vec<T, N>& v, int distance) {
    Vec<T, N> out;
#pragma unroll
    for (int i = 0; i < v.pieces; ++i) {
        const uint4& from = v.piece(i);
        uint4& to = out.piece(i);
        to.x = __shfl_xor_sync(0xffffffffu, from.x, distance);
        to.y = __shfl_xor_sync(0xffffffffu, from.y, distance);
        to.z = __shfl_xor_sync(0xffffffffu, from.z, distance);
        to.w = __shfl_xor_sync(0xffffffffu, from.w, distance);
    }
    return out;
}

template <class T, int N> __device__ __forceinline__ Vec<T, N> negated(Vec<T, N> v) {
    constexpr uint32_t signs = sizeof(T) == 2 ? 0x80008000u : 0x80000000u;
#pragma unroll
    for (int i = 0; i < v.pieces; ++i) {
        uint4& raw = v.piece(i);
        raw.x ^= signs;
        raw.y ^= signs;
        raw.z ^= signs;
        raw.w ^= signs;
    }
    return v;
}

/// A head is one vector a lane; the lane Lanes / 2 away holds the other half's vector.
template <class T, int Lanes, bool Once>
__global__ void __launch_bounds__(threads, blocksPerSm) qkNormRopeBackward(const __grid_constant__ Arguments<T> a) {
    constexpr int n = vecWidth<T>, groups = threads / Lanes;
    extern __shared__ uint4 shared[];
    allowNextLaunch();
    // A thread reads only what it copied itself.
    auto ring = reinterpret_cast<uint4(*)[atOnce][2][threads]>(shared); // [stage][head][dy, x][thread]
    auto ringOfRstd = reinterpret_cast<float(*)[atOnce][threads]>(ring + stages);
    const bool second = int(blockIdx.x) >= a.part[0].blocks;
    const Part<T>& p = a.part[second];
    const int block = int(blockIdx.x) - (second ? a.part[0].blocks : 0);
    const int lane = threadIdx.x % Lanes, group = threadIdx.x / Lanes, column = lane * n;
    const bool lower = lane < Lanes / 2;
    const int slots = p.slots, slot = group & (slots - 1), tokensOfBlock = groups / slots;
    const Vec<T, n> weight = loadShared<n>(p.weight + column);
    float dweight[n] = {};

    const int64_t first = int64_t(block) * tokensOfBlock + group / slots;
    int64_t batch, place;
    splitToken(first, a.tokensOfBatch, batch, place);

    // What is copied next. Pointers may run past the last token, but nothing is read there.
    int64_t tokenAhead = first, placeAhead = place;
    int headAhead = slot;
    const T* dyAhead = p.dy.token(batch, place) + slot * p.dy.headStride + column;
    const T* xAhead = p.x.token(batch, place) + slot * p.x.headStride + column;
    const float* rstdAhead = p.rstd + first * p.heads + slot;
    auto copyNext = [&](int stage) {
        const bool inside = tokenAhead < a.tokens;
#pragma unroll
        for (int u = 0; u < atOnce; ++u) {
            // A head that is not there is zero and adds nothing; a branch would part the lanes' ways.
            const bool there = inside && headAhead < p.heads;
            copyAsync16(&ring[stage][u][0][threadIdx.x], dyAhead, there);
            copyAsync16(&ring[stage][u][1][threadIdx.x], xAhead, there);
            copyAsync4(&ringOfRstd[stage][u][threadIdx.x], rstdAhead, there);
            headAhead += slots;
            dyAhead += p.dyWalk.head;
            xAhead += p.xWalk.head;
            rstdAhead += slots;
        }
        commitCopies();
        if (headAhead - slot < p.heads) return;
        rstdAhead += p.step * p.heads - (headAhead - slot);
        headAhead = slot;
        tokenAhead += p.step;
        placeAhead += p.stepPlace;
        const bool wraps = placeAhead >= a.tokensOfBatch;
        placeAhead -= wraps ? a.tokensOfBatch : 0;
        dyAhead += p.dyWalk.token + (wraps ? p.dyWalk.wrap : 0);
        xAhead += p.xWalk.token + (wraps ? p.xWalk.wrap : 0);
    };

    // The tables of a token are asked for one token ahead. Without a condition: else the load would be waited for at
    // once, to choose between it and what was there. Past the last token, any row will do.
    int64_t table = (first < a.tokens ? a.rotary.token(batch, place) : 0) + column;
    Vec<T, n> cosAhead = loadShared<n>(a.rotary.cos + table), sinAhead = loadShared<n>(a.rotary.sin + table);
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) copyNext(s);

    T* dxHead = p.dx.token(batch, place) + slot * p.dx.headStride + column;
    int stage = 0;
    // The bounds of both loops are the same for all lanes of a warp: the shuffles need them all.
    for (int64_t token = first; token - group / slots < a.tokens; token += p.step) {
        const bool tokenInside = token < a.tokens;
        const Vec<T, n> cos = cosAhead;
        // The upper half subtracts what the lower half's lane sends: then that one sends it negated.
        const Vec<T, n> sin = lower ? negated(sinAhead) : sinAhead;
        place += p.stepPlace;
        const bool wraps = place >= a.tokensOfBatch;
        place -= wraps ? a.tokensOfBatch : 0;
        if (token + p.step < a.tokens) table += p.tableWalk.token + (wraps ? p.tableWalk.wrap : 0);
        cosAhead = loadShared<n>(a.rotary.cos + table);
        sinAhead = loadShared<n>(a.rotary.sin + table);

        for (int head = slot; head - slot < p.heads; head += atOnce * slots) {
            copyNext((stage + stages - 1) % stages);
            waitCopies<stages - 1>();
#pragma unroll
            for (int u = 0; u < atOnce; ++u, dxHead += p.dxWalk.head) {
                Vec<T, n> dy, x;
                dy.piece(0) = ring[stage][u][0][threadIdx.x];
                x.piece(0) = ring[stage][u][1][threadIdx.x];
                const float r = ringOfRstd[stage][u][threadIdx.x];

                // The gradient of what the norm made, d, then times the weight, g.
                float d[n], g[n], dot = 0.f;
                if constexpr (Once) {
#pragma unroll
                    for (int i = 0; i < n; ++i) {
                        const float e = toFloat(dy.e[i]);
                        const float cross = __shfl_xor_sync(0xffffffffu, e * toFloat(sin.e[i]), Lanes / 2);
                        d[i] = e * toFloat(cos.e[i]) + cross;
                        g[i] = d[i] * toFloat(weight.e[i]);
                    }
                } else {
                    const Vec<T, n> straight = multiply(dy, cos);
                    const Vec<T, n> cross = shuffled(multiply(dy, sin), Lanes / 2);
                    dy = add(straight, cross);
                    unpack(multiply(dy, weight), g);
                }
                float fx[n];
                unpack(x, fx);
#pragma unroll
                for (int i = 0; i < n; ++i) dot += g[i] * fx[i];
                dot = sumLanes<Lanes>(dot);
                if constexpr (Once) {
#pragma unroll
                    for (int i = 0; i < n; ++i) dweight[i] += d[i] * (fx[i] * r);
                } else {
                    float h[n];
#pragma unroll
                    for (int i = 0; i < n; ++i) h[i] = fx[i] * r;
                    unpack(multiply(dy, packed<T>(h)), d);
#pragma unroll
                    for (int i = 0; i < n; ++i) dweight[i] += d[i];
                }
                const float c = -dot * r * r * r * a.inverseHeadDim;
#pragma unroll
                for (int i = 0; i < n; ++i) g[i] = g[i] * r + fx[i] * c;
                if (tokenInside && head + u * slots < p.heads) store<n>(dxHead, packed<T>(g));
            }
            stage = (stage + 1) % stages;
        }
        dxHead += p.dxWalk.token + (wraps ? p.dxWalk.wrap : 0);
    }

    if (!p.dweight) return;
    waitCopies<0>();
    __syncthreads();
    auto sums = reinterpret_cast<float(*)[Lanes * n]>(shared); // [group], where the heads were
#pragma unroll
    for (int i = 0; i < n; ++i) sums[group][column + i] = dweight[i];
    __syncthreads();
    for (int i = threadIdx.x; i < Lanes * n; i += threads) {
        float sum = 0.f;
        for (int g = 0; g < groups; ++g) sum += sums[g][i];
        p.partial[int64_t(block) * Lanes * n + i] = sum;
    }
}

/// Any head_dim, any alignment: a block is a warp and walks over heads.
template <class T, bool Once>
__global__ void __launch_bounds__(32) qkNormRopeBackwardPlain(const __grid_constant__ Arguments<T> a) {
    allowNextLaunch();
    const bool second = int(blockIdx.x) >= a.part[0].blocks;
    const Part<T>& p = a.part[second];
    const int64_t block = int(blockIdx.x) - (second ? a.part[0].blocks : 0);
    const int64_t half = a.headDim / 2;
    float* partial = p.dweight ? p.partial + block * a.headDim : nullptr;
    for (int64_t row = block; row < a.tokens * p.heads; row += p.blocks) {
        int64_t token, head, batch, place;
        splitToken(row, p.heads, token, head);
        splitToken(token, a.tokensOfBatch, batch, place);
        const T* dy = p.dy.token(batch, place) + head * p.dy.headStride;
        const T* x = p.x.token(batch, place) + head * p.x.headStride;
        T* dx = p.dx.token(batch, place) + head * p.dx.headStride;
        const int64_t table = a.rotary.token(batch, place);
        const float r = p.rstd[row];

        auto turned = [&](int64_t i, float& first, float& other) {
            first = toFloat(dy[i]);
            other = toFloat(dy[i + half]);
            rotatePair<true, Once>(first, other, a.rotary.cos + table, a.rotary.sin + table, i, half);
        };
        auto scaled = [&](float d, int64_t i) {
            const float g = d * toFloat(p.weight[i]);
            return Once ? g : rounded<T>(g);
        };
        float dot = 0.f;
        for (int64_t i = threadIdx.x; i < half; i += 32) {
            float first, other;
            turned(i, first, other);
            dot += scaled(first, i) * toFloat(x[i]) + scaled(other, i + half) * toFloat(x[i + half]);
        }
        const float c = -sumLanes<32>(dot) * r * r * r * a.inverseHeadDim;
        auto finish = [&](float d, int64_t i) {
            const float xi = toFloat(x[i]), h = xi * r;
            // A column belongs to one thread of the block, so its sum can live in the workspace.
            if (partial)
                partial[i] = (row == block ? 0.f : partial[i]) + (Once ? d * h : rounded<T>(d * rounded<T>(h)));
            return fromFloat<T>(scaled(d, i) * r + xi * c);
        };
        for (int64_t i = threadIdx.x; i < half; i += 32) {
            float first, other;
            turned(i, first, other);
            const T a1 = finish(first, i), a2 = finish(other, i + half);
            dx[i] = a1;
            dx[i + half] = a2;
        }
    }
}

static_assert(sharedBytes <= 48 * 1024 && sharedBytes >= threads * 16 * 2); // no opting in; room for the sums in fp32

/// sumColumns() of q's and k's partial sums in one launch.
template <class T> __global__ void __launch_bounds__(512) sumWeightGradients(const __grid_constant__ Arguments<T> a) {
    __shared__ float scratch[columnSumLanes][columnSumColumns];
    const Part<T>& p = a.part[blockIdx.y];
    awaitPreviousLaunch();
    if (!p.dweight) return;
    const int64_t column = int64_t(blockIdx.x) * columnSumColumns + threadIdx.x;
    float sum = column < a.headDim ? sumOfColumn(p.partial, p.blocks, a.headDim, column) : 0.f;
    scratch[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= a.headDim) return;
    for (int i = 1; i < columnSumLanes; ++i) sum += scratch[i][threadIdx.x];
    p.dweight[column] = fromFloat<T>(sum);
}

/// What a call will launch: the workspace follows from it.
struct Plan {
    int lanes = 0; // 0: the kernel of any head_dim
    int slots[2] = {1, 1};
    int blocks[2] = {0, 0};
};

/// How many heads of a token to work on side by side, so that the block with the most to do has the least: few cost
/// little for a token's tables, but leave blocks idle in the last round. (Measured on an H200 with 16384 tokens: of 32
/// heads one at a time 133.0 us, two 131.0, four 135.9, eight 185.) `tiles` becomes what there is for blocks to do.
int bestSlots(int64_t tokens, int64_t heads, int groups, int64_t blocks, int forced, int64_t& tiles) {
    constexpr double startOfToken = 0.5; // in heads
    int best = 0;
    double least = 0;
    for (int slots = heads >= 16 ? 2 : 1; slots <= groups; slots *= 2) {
        const int64_t n = (tokens * slots + groups - 1) / groups, rounds = (n + blocks - 1) / blocks;
        const int64_t lots = (heads + slots * atOnce - 1) / (slots * atOnce);
        const double cost = double(rounds) * (double(lots * atOnce) + startOfToken);
        if (best > 0 && (forced > 0 ? slots > forced : cost >= least)) continue;
        least = cost;
        best = slots;
        tiles = n;
    }
    return best;
}

template <class T> Plan planFor(const FsQkNormRopeBackward& c, const DeviceFacts& device) {
    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    auto aligned = [&](const FsHeads& dy, const FsHeads& x, const FsHeads& dx, const void* weight) {
        return x.heads == 0 || (aligned16(dy, shape, sizeof(T)) && aligned16(x, shape, sizeof(T)) &&
                                aligned16(dx, shape, sizeof(T)) && aligned16(weight));
    };
    Plan plan;
    if (c.hint.variant >= 0 && aligned(c.dq_out, c.q, c.dq, c.q_weight) && aligned(c.dk_out, c.k, c.dk, c.k_weight) &&
        aligned16(c.rotary, shape, sizeof(T)))
        plan.lanes = 2 * lanesOf<T>(c.head_dim);
    if (plan.lanes > 32) plan.lanes = 0; // a head has to fit a warp

    const int64_t tokens = c.batch * c.tokens, rows[2] = {tokens * c.q.heads, tokens * c.k.heads};
    const int perSm = c.hint.blocks_per_sm > 0 ? c.hint.blocks_per_sm : plan.lanes ? blocksPerSm : 32;
    const int64_t grid = std::max<int64_t>(2, int64_t(device.multiprocessors) * perSm);
    const int64_t heads[2] = {c.q.heads, c.k.heads};
    const double share = rows[0] + rows[1] ? double(rows[0]) / double(rows[0] + rows[1]) : 0.0;
    const int64_t ofQ = std::clamp<int64_t>(int64_t(share * double(grid) + 0.5), rows[0] > 0, grid - (rows[1] > 0));
    const int64_t most[2] = {ofQ, grid - ofQ};
    for (int w = 0; w < 2; ++w) {
        int64_t tiles = rows[w];
        if (plan.lanes > 0 && rows[w] > 0)
            plan.slots[w] = bestSlots(tokens, heads[w], threads / plan.lanes, most[w], c.hint.variant, tiles);
        plan.blocks[w] = int(std::min(most[w], tiles));
    }
    return plan;
}

size_t bytesOf(const FsQkNormRopeBackward& c, const Plan& plan) {
    const size_t row = size_t(c.head_dim) * sizeof(float);
    return row * size_t((c.dq_weight ? plan.blocks[0] : 0) + (c.dk_weight ? plan.blocks[1] : 0));
}

/// From the heads' strides and what a block takes: `groups` groups of lanes.
template <class T>
void setWalks(Part<T>& part, int groups, int64_t tokensOfBatch, int64_t tableBatchStride, int64_t tableTokenStride) {
    part.step = int64_t(part.blocks) * (groups / part.slots);
    const int64_t batches = part.step / tokensOfBatch;
    part.stepPlace = part.step % tokensOfBatch;
    const int64_t lots = (part.heads + part.slots * atOnce - 1) / (part.slots * atOnce);
    auto walk = [&](int64_t batchStride, int64_t tokenStride, int64_t headStride) {
        Walk w;
        w.head = part.slots * headStride;
        w.token = batches * batchStride + part.stepPlace * tokenStride - lots * atOnce * w.head;
        w.wrap = batchStride - tokensOfBatch * tokenStride;
        return w;
    };
    part.dyWalk = walk(part.dy.batchStride, part.dy.tokenStride, part.dy.headStride);
    part.xWalk = walk(part.x.batchStride, part.x.tokenStride, part.x.headStride);
    part.dxWalk = walk(part.dx.batchStride, part.dx.tokenStride, part.dx.headStride);
    part.tableWalk = walk(tableBatchStride, tableTokenStride, 0);
}

template <class T, bool Once>
FsStatus launch(const FsQkNormRopeBackward& c, const Plan& plan, float* partial, cudaStream_t stream) {
    Arguments<T> a;
    a.rotary = typed<T>(c.rotary);
    a.tokens = c.batch * c.tokens;
    a.tokensOfBatch = c.tokens;
    a.headDim = c.head_dim;
    a.inverseHeadDim = 1.f / float(c.head_dim);
    for (int w = 0; w < 2; ++w) {
        Part<T>& part = a.part[w];
        part.dy = typed<const T>(w ? c.dk_out : c.dq_out);
        part.x = typed<const T>(w ? c.k : c.q);
        part.dx = typed<T>(w ? c.dk : c.dq);
        part.weight = static_cast<const T*>(w ? c.k_weight : c.q_weight);
        part.rstd = w ? c.k_rstd : c.q_rstd;
        part.dweight = static_cast<T*>(w ? c.dk_weight : c.dq_weight);
        part.partial = partial;
        part.heads = int(w ? c.k.heads : c.q.heads);
        part.slots = plan.slots[w];
        part.blocks = plan.blocks[w];
        if (part.dweight) partial += part.blocks * c.head_dim;
        if (plan.lanes > 0 && part.blocks > 0)
            setWalks(part, threads / plan.lanes, c.tokens, a.rotary.batchStride, a.rotary.tokenStride);
    }

    const int grid = plan.blocks[0] + plan.blocks[1];
    if (grid > 0 && plan.lanes > 0) {
        const FsStatus s = withLanes<T>(plan.lanes / 2, [&](auto half) {
            constexpr int lanes = 2 * decltype(half)::value;
            if constexpr (lanes <= 32) qkNormRopeBackward<T, lanes, Once><<<grid, threads, sharedBytes, stream>>>(a);
            return checkLaunch("qk_norm_rope backward");
        });
        if (s != FS_OK) return s;
    } else if (grid > 0) {
        qkNormRopeBackwardPlain<T, Once><<<grid, 32, 0, stream>>>(a);
        if (FsStatus s = checkLaunch("qk_norm_rope backward, any head_dim"); s != FS_OK) return s;
    }
    if (!c.dq_weight && !c.dk_weight) return FS_OK;
    const unsigned columns = unsigned((c.head_dim + columnSumColumns - 1) / columnSumColumns);
    return launchAfter(sumWeightGradients<T>, dim3(columns, 2), dim3(columnSumColumns, columnSumLanes), stream,
                       "qk_norm_rope backward, sum over heads", a);
}

FsStatus planFor(Plan& plan, const FsQkNormRopeBackward& c) {
    DeviceFacts device;
    if (FsStatus s = currentDevice(device); s != FS_OK) return s;
    return withElementType(c.dtype, c.rounding, [&](auto type, auto) {
        plan = planFor<typename decltype(type)::Type>(c, device);
        return FS_OK;
    });
}

} // namespace

FsStatus qkNormRopeBackwardBytes(const FsQkNormRopeBackward& c, size_t& bytes) {
    Plan plan;
    if (FsStatus s = planFor(plan, c); s != FS_OK) return s;
    bytes = bytesOf(c, plan);
    return FS_OK;
}

FsStatus launchQkNormRopeBackward(const FsQkNormRopeBackward& c, void* workspace, size_t workspaceBytes,
                                  cudaStream_t stream) {
    Plan plan;
    if (FsStatus s = planFor(plan, c); s != FS_OK) return s;
    const size_t needed = bytesOf(c, plan);
    if (workspaceBytes < needed || (needed && !workspace))
        return fail(FS_WORKSPACE_TOO_SMALL, "qk_norm_rope backward: expected a workspace of %zu bytes, found %zu",
                    needed, workspace ? workspaceBytes : 0);
    return withElementType(c.dtype, c.rounding, [&](auto type, auto once) {
        return launch<typename decltype(type)::Type, decltype(once)::value>(c, plan, static_cast<float*>(workspace),
                                                                            stream);
    });
}

} // namespace fusescope::kernels
