// SPDX-License-Identifier: Apache-2.0
// Backward of qk_norm_rope: the rotation's transpose and the norm's backward in one pass over the gradient and x. A
// persistent grid, shared out between q and k by their work; a block keeps the sums for its weight's gradient in
// registers, a second kernel adds the blocks' sums. The heads to come are copied to shared memory while one is worked
// on.
#include "kernels/common/async_copy.cuh"
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
    Heads<const T> dy, x;
    Heads<T> dx;
    const T* weight;
    const float* rstd;
    T* dweight;     // null when it is not wanted
    float* partial; // [blocks][headDim]
    int heads;
    int slots; // heads of a token that a block works on at once, a power of two
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

constexpr int threads = 256, stages = 3, blocksPerSm = 2;

/// A thread's share of a head that is under way: the gradient and x of either half, and the head's rstd.
struct Ring {
    uint4 vectors[stages][4][threads]; // a thread reads only what it copied itself
    float rstd[stages][threads];
};

template <class T, int Lanes, bool Once>
__global__ void __launch_bounds__(threads, blocksPerSm) qkNormRopeBackward(const __grid_constant__ Arguments<T> a) {
    constexpr int n = vecWidth<T>, half = Lanes * n, groups = threads / Lanes;
    extern __shared__ uint4 memory[];
    Ring& ring = *reinterpret_cast<Ring*>(memory);
    const bool second = int(blockIdx.x) >= a.part[0].blocks;
    const Part<T>& p = a.part[second];
    const int block = int(blockIdx.x) - (second ? a.part[0].blocks : 0);
    const int me = threadIdx.x, column = me % Lanes * n, group = me / Lanes;
    const int slots = p.slots, slot = group & (slots - 1), tokensOfBlock = groups / slots;
    const int64_t step = int64_t(p.blocks) * tokensOfBlock;
    const int64_t firstToken = int64_t(block) * tokensOfBlock;
    const int64_t tokenOfGroup = group / slots;

    // The walk of the copies: a token's heads `slots` apart, then the next token of this group.
    int64_t fetchToken = firstToken + tokenOfGroup;
    int fetchHead = slot;
    const T *nextDy = nullptr, *nextX = nullptr;
    const float* nextRstd = nullptr;
    auto findToken = [&] {
        if (fetchToken >= a.tokens) return;
        int64_t batch, place;
        splitToken(fetchToken, a.tokensOfBatch, batch, place);
        nextDy = p.dy.token(batch, place) + slot * p.dy.headStride + column;
        nextX = p.x.token(batch, place) + slot * p.x.headStride + column;
        nextRstd = p.rstd + fetchToken * p.heads + slot;
    };
    auto fetch = [&](int stage) {
        if (fetchToken < a.tokens && fetchHead < p.heads) {
            copyAsync16(&ring.vectors[stage][0][me], nextDy);
            copyAsync16(&ring.vectors[stage][1][me], nextDy + half);
            copyAsync16(&ring.vectors[stage][2][me], nextX);
            copyAsync16(&ring.vectors[stage][3][me], nextX + half);
            copyAsync4(&ring.rstd[stage][me], nextRstd);
        }
        commitCopies();
        fetchHead += slots;
        nextDy += slots * p.dy.headStride;
        nextX += slots * p.x.headStride;
        nextRstd += slots;
        if (fetchHead - slot < p.heads) return;
        fetchHead = slot;
        fetchToken += step;
        findToken();
    };
    findToken();
#pragma unroll
    for (int s = 0; s < stages - 1; ++s) fetch(s);

    const Vec<T, n> weightX = loadShared<n>(p.weight + column), weightY = loadShared<n>(p.weight + column + half);
    float sumsX[n] = {}, sumsY[n] = {};
    int stage = 0;
    // The bounds of both loops are the same for all lanes of a warp: sumLanes() needs them all.
    for (int64_t tile = firstToken; tile < a.tokens; tile += step) {
        const int64_t token = tile + tokenOfGroup;
        const bool tokenInside = token < a.tokens;
        int64_t batch, place;
        splitToken(tokenInside ? token : 0, a.tokensOfBatch, batch, place);
        TableRow<T, n> table;
        table.load(a.rotary, a.rotary.token(batch, place), column, half);
        T* dx = p.dx.token(batch, place) + column;

        for (int first = 0; first < p.heads; first += slots) {
            fetch(stage == 0 ? stages - 1 : stage - 1);
            waitCopies<stages - 1>();
            Vec<T, n> dyX, dyY, x, y;
            dyX.piece(0) = ring.vectors[stage][0][me];
            dyY.piece(0) = ring.vectors[stage][1][me];
            x.piece(0) = ring.vectors[stage][2][me];
            y.piece(0) = ring.vectors[stage][3][me];
            const float r = ring.rstd[stage][me];
            stage = stage + 1 == stages ? 0 : stage + 1;
            const int head = first + slot;
            const bool inside = tokenInside && head < p.heads;

            // The gradient of what the norm made, first itself, then times the weight.
            float fx[n], fy[n], gx[n], gy[n], dot = 0.f;
            unpack(x, fx);
            unpack(y, fy);
            if constexpr (Once) {
                table.stayPacked();
                unpack(dyX, gx);
                unpack(dyY, gy);
                rotate<true>(gx, gy, table);
#pragma unroll
                for (int i = 0; i < n; ++i) {
                    if (inside) {
                        sumsX[i] += gx[i] * (fx[i] * r);
                        sumsY[i] += gy[i] * (fy[i] * r);
                    }
                    gx[i] *= toFloat(weightX.e[i]);
                    gy[i] *= toFloat(weightY.e[i]);
                }
            } else {
                rotate<true>(dyX, dyY, table);
                unpack(multiply(dyX, weightX), gx);
                unpack(multiply(dyY, weightY), gy);
            }
#pragma unroll
            for (int i = 0; i < n; ++i) dot += gx[i] * fx[i] + gy[i] * fy[i];
            dot = sumLanes<Lanes>(dot);
            if (!inside) continue;
            if constexpr (!Once) {
                float hx[n], hy[n];
#pragma unroll
                for (int i = 0; i < n; ++i) {
                    hx[i] = fx[i] * r;
                    hy[i] = fy[i] * r;
                }
                unpack(multiply(dyX, packed<T>(hx)), hx);
                unpack(multiply(dyY, packed<T>(hy)), hy);
#pragma unroll
                for (int i = 0; i < n; ++i) {
                    sumsX[i] += hx[i];
                    sumsY[i] += hy[i];
                }
            }
            const float c = -dot * r * r * r * a.inverseHeadDim;
#pragma unroll
            for (int i = 0; i < n; ++i) {
                gx[i] = gx[i] * r + fx[i] * c;
                gy[i] = gy[i] * r + fy[i] * c;
            }
            store<n>(dx + head * p.dx.headStride, packed<T>(gx));
            store<n>(dx + head * p.dx.headStride + half, packed<T>(gy));
        }
    }

    if (!p.dweight) return;
    waitCopies<0>();
    __syncthreads();
    float* sums = reinterpret_cast<float*>(memory); // [groups][2 * half]
#pragma unroll
    for (int i = 0; i < n; ++i) {
        sums[group * 2 * half + column + i] = sumsX[i];
        sums[group * 2 * half + column + half + i] = sumsY[i];
    }
    __syncthreads();
    for (int i = me; i < 2 * half; i += threads) {
        float sum = 0.f;
        for (int g = 0; g < groups; ++g) sum += sums[g * 2 * half + i];
        p.partial[int64_t(block) * 2 * half + i] = sum;
    }
}

/// Any head_dim, any alignment: a block is a warp and walks over heads.
template <class T, bool Once>
__global__ void __launch_bounds__(32) qkNormRopeBackwardPlain(const __grid_constant__ Arguments<T> a) {
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

constexpr int sumColumnsOfBlock = 32, sumLanesOfBlock = 16;

/// sumColumns() of q's and k's partial sums in one launch.
template <class T> __global__ void __launch_bounds__(512) sumWeightGradients(const __grid_constant__ Arguments<T> a) {
    __shared__ float scratch[sumLanesOfBlock][sumColumnsOfBlock];
    const Part<T>& p = a.part[blockIdx.y];
    if (!p.dweight) return;
    const int64_t column = int64_t(blockIdx.x) * sumColumnsOfBlock + threadIdx.x;
    float sum = 0.f;
    if (column < a.headDim)
        for (int b = threadIdx.y; b < p.blocks; b += sumLanesOfBlock) sum += p.partial[b * a.headDim + column];
    scratch[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || column >= a.headDim) return;
    for (int i = 1; i < sumLanesOfBlock; ++i) sum += scratch[i][threadIdx.x];
    p.dweight[column] = fromFloat<T>(sum);
}

/// What a call will launch: the workspace follows from it.
struct Plan {
    int lanes = 0; // 0: the kernel of any head_dim
    int slots[2] = {1, 1};
    int blocks[2] = {0, 0};
};

template <class T> Plan planFor(const FsQkNormRopeBackward& c, const DeviceFacts& device) {
    const HeadShape shape{c.batch, c.tokens, c.head_dim};
    auto aligned = [&](const FsHeads& dy, const FsHeads& x, const FsHeads& dx, const void* weight) {
        return x.heads == 0 || (aligned16(dy, shape, sizeof(T)) && aligned16(x, shape, sizeof(T)) &&
                                aligned16(dx, shape, sizeof(T)) && aligned16(weight));
    };
    Plan plan;
    if (c.hint.variant >= 0 && aligned(c.dq_out, c.q, c.dq, c.q_weight) && aligned(c.dk_out, c.k, c.dk, c.k_weight) &&
        aligned16(c.rotary, shape, sizeof(T)))
        plan.lanes = lanesOf<T>(c.head_dim);

    const int64_t tokens = c.batch * c.tokens, heads[2] = {c.q.heads, c.k.heads}, all = heads[0] + heads[1];
    const int perSm = c.hint.blocks_per_sm > 0 ? c.hint.blocks_per_sm : plan.lanes ? blocksPerSm : 32;
    const int64_t grid = std::max<int64_t>(2, int64_t(device.multiprocessors) * perSm);
    int64_t tiles[2], work[2];
    for (int w = 0; w < 2; ++w) {
        tiles[w] = work[w] = tokens * heads[w];
        if (plan.lanes == 0 || work[w] == 0) continue;
        const int groups = threads / plan.lanes;
        auto tilesOf = [&](int slots) { return (tokens * slots + groups - 1) / groups; };
        int slots = 1;
        while (slots < 8 && slots < heads[w] && slots < groups) slots *= 2;
        // Few tokens: their heads side by side, so that there is work for every block.
        while (slots < groups && slots < heads[w] && tilesOf(slots) * all < 2 * grid * heads[w]) slots *= 2;
        if (c.hint.variant > 0)
            for (slots = 1; slots * 2 <= std::min(c.hint.variant, groups);) slots *= 2;
        plan.slots[w] = slots;
        tiles[w] = tilesOf(slots);
        work[w] = tiles[w] * ((heads[w] + slots - 1) / slots);
    }
    if (work[0] + work[1] == 0) return plan;
    const double share = double(work[0]) / (double(work[0]) + double(work[1]));
    const int64_t ofQ = std::clamp<int64_t>(int64_t(share * double(grid) + 0.5), work[0] > 0, grid - (work[1] > 0));
    plan.blocks[0] = int(std::min(ofQ, tiles[0]));
    plan.blocks[1] = int(std::min(grid - ofQ, tiles[1]));
    return plan;
}

size_t bytesOf(const FsQkNormRopeBackward& c, const Plan& plan) {
    const size_t row = size_t(c.head_dim) * sizeof(float);
    return row * size_t((c.dq_weight ? plan.blocks[0] : 0) + (c.dk_weight ? plan.blocks[1] : 0));
}

template <class T, bool Once>
FsStatus launch(const FsQkNormRopeBackward& c, const Plan& plan, float* partial, cudaStream_t stream) {
    Arguments<T> a;
    a.part[0] = {typed<const T>(c.dq_out),
                 typed<const T>(c.q),
                 typed<T>(c.dq),
                 static_cast<const T*>(c.q_weight),
                 c.q_rstd,
                 static_cast<T*>(c.dq_weight),
                 partial,
                 int(c.q.heads),
                 plan.slots[0],
                 plan.blocks[0]};
    if (c.dq_weight) partial += plan.blocks[0] * c.head_dim;
    a.part[1] = {typed<const T>(c.dk_out),
                 typed<const T>(c.k),
                 typed<T>(c.dk),
                 static_cast<const T*>(c.k_weight),
                 c.k_rstd,
                 static_cast<T*>(c.dk_weight),
                 partial,
                 int(c.k.heads),
                 plan.slots[1],
                 plan.blocks[1]};
    a.rotary = typed<T>(c.rotary);
    a.tokens = c.batch * c.tokens;
    a.tokensOfBatch = c.tokens;
    a.headDim = c.head_dim;
    a.inverseHeadDim = 1.f / float(c.head_dim);

    const int grid = plan.blocks[0] + plan.blocks[1];
    if (grid > 0 && plan.lanes > 0) {
        const FsStatus s = withLanes<T>(plan.lanes, [&](auto lanes) {
            static Occupancy occupancy;
            const auto kernel = qkNormRopeBackward<T, decltype(lanes)::value, Once>;
            int fit = 0;
            if (FsStatus o = occupancy.blocksPerSm(reinterpret_cast<const void*>(kernel), threads, sizeof(Ring), fit);
                o != FS_OK)
                return o;
            kernel<<<grid, threads, sizeof(Ring), stream>>>(a);
            return checkLaunch("qk_norm_rope backward");
        });
        if (s != FS_OK) return s;
    } else if (grid > 0) {
        qkNormRopeBackwardPlain<T, Once><<<grid, 32, 0, stream>>>(a);
        if (FsStatus s = checkLaunch("qk_norm_rope backward, any head_dim"); s != FS_OK) return s;
    }
    if (!c.dq_weight && !c.dk_weight) return FS_OK;
    const unsigned columns = unsigned((c.head_dim + sumColumnsOfBlock - 1) / sumColumnsOfBlock);
    sumWeightGradients<T><<<dim3(columns, 2), dim3(sumColumnsOfBlock, sumLanesOfBlock), 0, stream>>>(a);
    return checkLaunch("qk_norm_rope backward, sum over heads");
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
