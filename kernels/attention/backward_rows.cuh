// SPDX-License-Identifier: Apache-2.0
// Before and after the products of attention's backward: a pass over out and dout, and one over the sums of dq.
#pragma once

#include "kernels/attention/backward_block.cuh"
#include "kernels/attention/row_store.cuh"
#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/vector_io.cuh"

#include <cmath>
#include <cstdint>

namespace fusescope::kernels::hopper::backward {

struct RowArguments {
    Scratch scratch;
    const void *out, *dout;
    const float* lse;
    void* dq;
    int64_t outStride[3], doutStride[3], dqStride[3];
    int64_t rows; // of the scratch memory: tokens rounded up to whole tiles, heads and batches
    int queryTokens, queryTiles, queryHeads;
    float scale;
    bool headsInside; // heads lie inside tokens in memory
};

constexpr int lanesOfRow = headDim / 8; // 16 bytes each

/// lse2 and delta of a row, and zeros into a row's worth of the sums. Sixteen lanes a row, in the order of memory.
template <class T> __global__ void __launch_bounds__(256) prepareRows(RowArguments a) {
    allowNextLaunch();
    const int64_t item = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / lanesOfRow;
    const int lane = int(threadIdx.x) % lanesOfRow, rowsOfHead = a.queryTiles * queriesOfTile;
    if (item >= a.rows) return;
    const int inner = int(item % (a.headsInside ? a.queryHeads : rowsOfHead));
    const int64_t rest = item / (a.headsInside ? a.queryHeads : rowsOfHead);
    const int outer = int(rest % (a.headsInside ? rowsOfHead : a.queryHeads));
    const int64_t batch = rest / (a.headsInside ? rowsOfHead : a.queryHeads);
    const int head = a.headsInside ? inner : outer, token = a.headsInside ? outer : inner;

    if (item == 0 && lane == 0) *a.scratch.taken = 0;
    float4* const sums = reinterpret_cast<float4*>(a.scratch.dq + item * headDim) + lane;
    sums[0] = sums[lanesOfRow] = make_float4(0.f, 0.f, 0.f, 0.f);

    const bool real = token < a.queryTokens;
    float delta = 0.f;
    if (real) {
        const auto load = [&](const void* data, const int64_t(&stride)[3]) {
            return loadOnce<8>(static_cast<const T*>(data) + batch * stride[0] + token * stride[1] + head * stride[2] +
                               8 * lane);
        };
        const Vec<T, 8> out = load(a.out, a.outStride), dout = load(a.dout, a.doutStride);
#pragma unroll
        for (int i = 0; i < 8; ++i) delta = fmaf(toFloat(out.e[i]), toFloat(dout.e[i]), delta);
    }
#pragma unroll
    for (int step = lanesOfRow / 2; step > 0; step /= 2) delta += __shfl_xor_sync(~0u, delta, step);
    if (lane != 0) return;
    const int64_t ofHead = batch * a.queryHeads + head, row = ofHead * rowsOfHead + token;
    constexpr float log2e = 1.4426950408889634f;
    a.scratch.lse2[row] = real ? a.lse[ofHead * a.queryTokens + token] * log2e : INFINITY;
    a.scratch.delta[row] = delta;
}

/// dq from its sums: a block a tile of queries, as two warpgroups of the products have it.
template <class T> __global__ void __launch_bounds__(2 * warpgroup) finishQueries(RowArguments a) {
    awaitPreviousLaunch();
    // The last queries of all heads first: they were added to last, and are still in L2.
    const int heads = int(a.rows / (a.queryTiles * queriesOfTile)), level = int(blockIdx.x) / heads;
    const int64_t tile = int64_t(int(blockIdx.x) - level * heads) * a.queryTiles + (a.queryTiles - 1 - level);
    const int half = int(threadIdx.x) / warpgroup, thread = int(threadIdx.x) % warpgroup;
    float sums[queriesOfTile / 2];
    const float4* const from =
        reinterpret_cast<const float4*>(a.scratch.dq + tile * sumsOfTile + half * (sumsOfTile / 2)) + thread;
#pragma unroll
    for (int i = 0; i < queriesOfTile / 8; ++i) {
        const float4 four = __ldcg(from + i * warpgroup);
        sums[4 * i] = four.x;
        sums[4 * i + 1] = four.y;
        sums[4 * i + 2] = four.z;
        sums[4 * i + 3] = four.w;
    }
    const int64_t ofHead = tile / a.queryTiles, batch = ofHead / a.queryHeads, head = ofHead - batch * a.queryHeads;
    const int first = int(tile - ofHead * a.queryTiles) * queriesOfTile;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        const int token = first + thread / 32 * 16 + thread % 32 / 4 + 8 * r;
        storeRow<T>(static_cast<T*>(a.dq) + batch * a.dqStride[0] + token * a.dqStride[1] + head * a.dqStride[2] +
                        half * (headDim / 2),
                    sums, r, a.scale, token < a.queryTokens);
    }
}

} // namespace fusescope::kernels::hopper::backward
