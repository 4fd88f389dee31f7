// SPDX-License-Identifier: Apache-2.0
// What a warpgroup of attention's backward does: 64 keys of a tile of 128, against a tile of 64 queries after another.
//
//   weights  p^T = 2^(scaleLog2 k q^T - lse2)      keys by queries, so that p^T and ds^T are the left operands of
//   changes  ds^T = p^T * (v dout^T - delta)       dv += p^T dout and dk += ds^T q from the registers they are in
//   sums     dq += ds k                            ds of both warpgroups through shared memory, half the columns each
//
// The sums of dq meet in memory, where blocks with other keys of the head add to them too.
#pragma once

#include "kernels/attention/backward_block.cuh"
#include "kernels/attention/hopper_weights.cuh"
#include "kernels/attention/row_store.cuh"
#include "kernels/attention/wgmma.cuh"

namespace fusescope::kernels::hopper::backward {

__device__ __forceinline__ float2 loadShared(uint32_t address) {
    float2 v;
    asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(v.x), "=f"(v.y) : "r"(address));
    return v;
}

/// Four squares of 8 by 8 elements, transposed: lane l tells where row l % 8 of square l / 8 goes.
__device__ __forceinline__ void storeTransposed(uint32_t address, const uint32_t* squares) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
                 "r"(squares[0]), "r"(squares[1]), "r"(squares[2]), "r"(squares[3])
                 : "memory");
}

__device__ __forceinline__ void addToMemory(float* to, float a, float b, float c, float d) {
    asm volatile("red.relaxed.gpu.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(a), "f"(b), "f"(c), "f"(d)
                 : "memory");
}

template <class T> class Worker {
public:
    __device__ __forceinline__ Worker(const Arguments& arguments, const Shared& memory)
        : a_(arguments), shared_(memory) {
        // The same in all lanes, and the compiler should know; nor should it compute the address anew all the time.
        shared_.base = __shfl_sync(~0u, shared_.base, 0);
        group_ = __shfl_sync(~0u, int(threadIdx.x) / warpgroup, 0) - 1;
        lane_ = int(threadIdx.x) % 32;
        const int warp = int(threadIdx.x) % warpgroup / 32;
        warpKey_ = keysOfWorker * group_ + 16 * warp;
        // Of ds: 16-byte pieces of 8 keys, swizzled by the query as the tensor cores read them.
        const int square = lane_ / 8, query = square / 2 * 8 + lane_ % 8, piece = 2 * warp + square % 2;
        dsOffset_ = uint32_t(group_ * queriesOfTile * rowBytes + query * rowBytes + ((piece ^ (lane_ % 8)) << 4));
    }

    __device__ __forceinline__ void run() {
        for (int item = nextItem(); item >= 0; item = nextItem()) work(KeyTile(a_, item));
    }

private:
    static constexpr int scores = queriesOfTile / 2; // of a thread

    /// Waits for a tile of keys; negative at the end.
    __device__ __forceinline__ int nextItem() {
        wait(shared_.keysFull(), keysPhase_);
        keysPhase_ ^= 1;
        int item;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(item) : "r"(shared_.item()) : "memory");
        return __shfl_sync(~0u, item, 0); // the same in all lanes, and the compiler should know
    }

    /// What all lanes have read may be written over: one of them says so for all.
    __device__ __forceinline__ void release(uint32_t empty) {
        __syncwarp();
        if (lane_ < a_.lanesThatArrive) arrive(empty);
    }

    /// d = keys' rows (of k or v) times queries' rows (of q or dout), along head_dim.
    static __device__ __forceinline__ void startScores(float (&d)[scores], uint32_t keys, uint32_t queries) {
        const uint64_t a = operandAt(keys, 16), b = operandAt(queries, 16);
        beginProducts();
#pragma unroll
        for (int i = 0; i < headDim / 16; ++i) {
            const int inRow = i % 4 * (32 >> 4), half = i / 4; // see the forward pass
            const uint64_t left = a + half * (keysOfTile * rowBytes >> 4) + inRow;
            const uint64_t right = b + half * (queryBytes / 2 >> 4) + inRow;
            if (i == 0)
                product<T, false, false>(d, left, right);
            else
                product<T, true, false>(d, left, right);
        }
        commitProducts();
    }

    /// d += weights or changes times queries' rows (of dout or q), along the queries.
    static __device__ __forceinline__ void startSums(float (&d)[64], const uint32_t (&p)[scores / 2],
                                                     uint32_t queries) {
        const uint64_t b = operandAt(queries, queryBytes / 2);
        beginProducts();
#pragma unroll
        for (int i = 0; i < queriesOfTile / 16; ++i) product<T>(d, p + 4 * i, b + i * (16 * rowBytes >> 4));
        commitProducts();
    }

    /// d = ds times k, along the keys, of this warpgroup's half of head_dim.
    __device__ __forceinline__ void startQuerySums(float (&d)[scores], uint32_t ds) const {
        const uint64_t a = operandAt(ds, 16), b = operandAt(shared_.k() + group_ * (tileBytes / 2), 16);
        beginProducts();
#pragma unroll
        for (int i = 0; i < keysOfTile / 16; ++i) {
            const uint64_t left = a + i / 4 * (queryBytes / 2 >> 4) + i % 4 * (32 >> 4);
            const uint64_t right = b + i * (16 * rowBytes >> 4);
            if (i == 0)
                product<T, false, true>(d, left, right);
            else
                product<T, true, true>(d, left, right);
        }
        commitProducts();
    }

    __device__ __forceinline__ void hide(float (&s)[scores], int firstKey, int firstQuery) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int key = firstKey + warpKey_ + lane_ / 4 + 8 * r;
            const int hidden = (key >= a_.keyTokens ? queriesOfTile
                                : a_.causal         ? key - firstQuery
                                                    : 0) -
                               2 * (lane_ % 4);
#pragma unroll
            for (int i = 0; i < scores / 4; ++i) {
                if (8 * i < hidden) s[4 * i + 2 * r] = -INFINITY;
                if (8 * i + 1 < hidden) s[4 * i + 2 * r + 1] = -INFINITY;
            }
        }
    }

    /// Scores to weights.
    __device__ __forceinline__ void weigh(float (&s)[scores], uint32_t lse2) const {
        const uint32_t from = lse2 + 8 * (lane_ % 4);
#pragma unroll
        for (int i = 0; i < scores / 4; ++i) {
            const float2 base = loadShared(from + 32 * i);
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                s[4 * i + 2 * r] = powerOfTwo(fmaf(s[4 * i + 2 * r], a_.scaleLog2, -base.x));
                s[4 * i + 2 * r + 1] = powerOfTwo(fmaf(s[4 * i + 2 * r + 1], a_.scaleLog2, -base.y));
            }
        }
    }

    /// The weights' gradients to those of the scores.
    __device__ __forceinline__ void change(float (&dp)[scores], const float (&p)[scores], uint32_t delta) const {
        const uint32_t from = delta + 8 * (lane_ % 4);
#pragma unroll
        for (int i = 0; i < scores / 4; ++i) {
            const float2 base = loadShared(from + 32 * i);
#pragma unroll
            for (int r = 0; r < 2; ++r) {
                dp[4 * i + 2 * r] = p[4 * i + 2 * r] * (dp[4 * i + 2 * r] - base.x);
                dp[4 * i + 2 * r + 1] = p[4 * i + 2 * r + 1] * (dp[4 * i + 2 * r + 1] - base.y);
            }
        }
    }

    __device__ __forceinline__ QueryTile tileAt(int stage) const {
        QueryTile t;
        asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(t.first), "=r"(t.number) : "r"(shared_.tile(stage)));
        t.number = __shfl_sync(~0u, t.number, 0); // see nextItem()
        return t;
    }

    /// Adds this warpgroup's half of head_dim: a thread's four sums side by side, a warp's 512 bytes.
    __device__ __forceinline__ void storeSums(const float (&dq)[scores], int tile) const {
        float* const to =
            a_.scratch.dq + int64_t(tile) * sumsOfTile + group_ * (sumsOfTile / 2) + 4 * (int(threadIdx.x) % warpgroup);
#pragma unroll
        for (int i = 0; i < scores; i += 4) addToMemory(to + i * warpgroup, dq[i], dq[i + 1], dq[i + 2], dq[i + 3]);
    }

    __device__ __forceinline__ void work(const KeyTile& t) {
        float dk[64], dv[64];
#pragma unroll
        for (int i = 0; i < 64; ++i) dk[i] = dv[i] = 0.f;
        const int steps = queryTilesOf(a_, t);
        if (steps > 0) walk(dk, dv, t.key, steps);
        release(shared_.keysEmpty());
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int key = t.key + warpKey_ + lane_ / 4 + 8 * r;
            const bool real = key < a_.keyTokens;
            storeRow<T>(static_cast<T*>(a_.dk) + t.batch * a_.dkStride[0] + key * a_.dkStride[1] +
                            t.head * a_.dkStride[2],
                        dk, r, a_.scale, real);
            storeRow<T>(static_cast<T*>(a_.dv) + t.batch * a_.dvStride[0] + key * a_.dvStride[1] +
                            t.head * a_.dvStride[2],
                        dv, r, 1.f, real);
        }
    }

    /// Products are under way while the warps compute: v dout^T beside the weights, dv beside the changes, dk and the
    /// next k q^T beside the sums of dq. Both warpgroups together keep the tensor cores busy. Two rules of the
    /// compiler, or else it waits for each product: what is read in the loop does not stay under way from one turn to
    /// the next, and no more registers are in use than dk, dv, two arrays of scores and two of rounded ones have.
    __device__ __forceinline__ void walk(float (&dk)[64], float (&dv)[64], int firstKey, int steps) {
        const uint32_t keys = shared_.k() + group_ * (keysOfWorker * rowBytes);
        const uint32_t values = shared_.v() + group_ * (keysOfWorker * rowBytes);
        float s[scores];
        uint32_t p[scores / 2], ds[scores / 2];

        awaitQueries();
        startScores(s, keys, shared_.q(stageOf<depthOfQ>(count_)));
        waitProducts<0>();
        settle(s);
        for (; steps > 0; --steps) {
            float dp[scores], dq[scores];
            const int q = stageOf<depthOfQ>(count_), dout = stageOf<depthOfDout>(count_);
            wait(shared_.doutFull(dout), roundOf<depthOfDout>(count_));
            startScores(dp, values, shared_.dout(dout));

            const QueryTile tile = tileAt(q);
            if (firstKey + keysOfTile > a_.keyTokens || (a_.causal && tile.first < firstKey + keysOfTile))
                hide(s, firstKey, tile.first);
            weigh(s, shared_.lse2(q));
            roundWeights<T>(s, p);
            startSums(dv, p, shared_.dout(dout));
            waitProducts<1>();
            settle(dp);
            change(dp, s, shared_.delta(dout));
            roundWeights<T>(dp, ds);

            const uint32_t changes = shared_.ds(count_ % 2);
#pragma unroll
            for (int i = 0; i < scores / 2; i += 4)
                storeTransposed(changes + dsOffset_ + i / 4 * (16 * rowBytes), ds + i);
            publishWrites();
            meet<1, workers * warpgroup>();
            waitProducts<0>();
            settle(p);
            release(shared_.doutEmpty(dout));

            startQuerySums(dq, changes);
            startSums(dk, ds, shared_.q(q));
            waitProducts<1>();
            settle(dq);
            storeSums(dq, tile.number);
            // After the last tile its scores once more, which nobody reads: a product under a condition would have the
            // compiler wait for each.
            ++count_;
            if (steps > 1) awaitQueries();
            startScores(s, keys, shared_.q(steps > 1 ? stageOf<depthOfQ>(count_) : q));
            waitProducts<0>();
            settle(s);
            settle(ds);
            release(shared_.qEmpty(q));
        }
        settle(dk);
        settle(dv);
    }

    __device__ __forceinline__ void awaitQueries() {
        wait(shared_.qFull(stageOf<depthOfQ>(count_)), roundOf<depthOfQ>(count_));
    }

    const Arguments& a_;
    Shared shared_;
    uint32_t count_ = 0; // of tiles of queries
    uint32_t keysPhase_ = 0;
    int group_, lane_, warpKey_;
    uint32_t dsOffset_;
};

} // namespace fusescope::kernels::hopper::backward
