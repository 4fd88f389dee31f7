// SPDX-License-Identifier: Apache-2.0
// What a warpgroup does with the tiles: products, weights, results.
#pragma once

#include "kernels/attention/hopper_block.cuh"
#include "kernels/attention/hopper_weights.cuh"
#include "kernels/attention/row_store.cuh"
#include "kernels/attention/wgmma.cuh"

namespace fusescope::kernels::hopper {

/// What a warpgroup does.
template <class C, class T> class Worker {
public:
    __device__ __forceinline__ Worker(const Arguments& arguments, const Shared<C>& memory)
        : a_(arguments), shared_(memory) {
        // The same in all lanes, and the compiler should know.
        group_ = __shfl_sync(~0u, int(threadIdx.x) / warpgroup, 0) - 1;
        lane_ = int(threadIdx.x) % 32;
        warpRow_ = 64 * group_ + (int(threadIdx.x) % warpgroup) / 32 * 16;
        queries_ = operandAt(shared_.q() + group_ * 64 * rowBytes, 16);
    }

    __device__ __forceinline__ void run() {
        for (int step = 0; step < a_.order.steps; ++step) {
            Tile t;
            if (tileAt<C>(a_, step, t)) attend(t);
        }
    }

private:
    static constexpr int scores = keysOfTile / 2; // of a thread

    /// Every warp for itself: the others may not have come here.
    __device__ __forceinline__ void release(uint32_t empty) {
        __syncwarp();
        if (lane_ == 0) arrive(empty);
    }

    __device__ __forceinline__ void startScores(float (&s)[scores]) {
        const uint64_t k = operandAt(shared_.k(k_.stage), 16);
        beginProducts();
#pragma unroll
        for (int i = 0; i < headDim / 16; ++i) {
            // 16 elements are 32 bytes of a row; the second half of the head is another 128 bytes wide tile.
            const int inRow = i % 4 * (32 >> 4), half = i / 4;
            const uint64_t q = queries_ + half * (C::rows * rowBytes >> 4) + inRow;
            const uint64_t keys = k + half * (keysOfTile * rowBytes >> 4) + inRow;
            if (i == 0)
                product<T, false>(s, q, keys);
            else
                product<T, true>(s, q, keys);
        }
        commitProducts();
    }

    __device__ __forceinline__ void startSums(float (&o)[64], const uint32_t (&p)[scores / 2]) {
        const uint64_t v = operandAt(shared_.v(v_.stage), keysOfTile * rowBytes);
        beginProducts();
#pragma unroll
        for (int i = 0; i < keysOfTile / 16; ++i) product<T>(o, p + 4 * i, v + i * (16 * rowBytes >> 4));
        commitProducts();
    }

    __device__ __forceinline__ void awaitKeys() { wait(shared_.kFull(k_.stage), k_.phase); }
    __device__ __forceinline__ void awaitValues() { wait(shared_.vFull(v_.stage), v_.phase); }
    __device__ __forceinline__ void releaseKeys() {
        release(shared_.kEmpty(k_.stage));
        k_.next();
    }
    __device__ __forceinline__ void releaseValues() {
        release(shared_.vEmpty(v_.stage));
        v_.next();
    }

    /// The product with the values, alone.
    __device__ __forceinline__ void sums(float (&o)[64], uint32_t (&p)[scores / 2]) {
        awaitValues();
        startSums(o, p);
        waitProducts<0>();
        settle(o);
        settle(p);
        releaseValues();
    }

    /// Takes keys that a row does not see, or that do not exist, out of its scores.
    __device__ __forceinline__ void hide(float (&s)[scores], const Tile& t, int keyTile) const {
        const int firstKey = keyTile * keysOfTile + 2 * (lane_ % 4);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = t.row + warpRow_ + lane_ / 4 + 8 * r;
            const int seen = (a_.causal ? min(a_.keyTokens, row + 1) : a_.keyTokens) - firstKey;
#pragma unroll
            for (int i = 0; i < scores / 4; ++i) {
                if (8 * i >= seen) s[4 * i + 2 * r] = -INFINITY;
                if (8 * i + 1 >= seen) s[4 * i + 2 * r + 1] = -INFINITY;
            }
        }
    }

    /// Scores of the next keys beside the product of the last weights.
    template <bool Hidden>
    __device__ __forceinline__ void stepBeside(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2],
                                               Rows& rows, const Tile& t, int keyTile) {
        float shrink[2];
        awaitKeys();
        startScores(s);
        awaitValues();
        startSums(o, p);
        waitProducts<1>();
        settle(s);
        releaseKeys();
        if (Hidden) hide(s, t, keyTile);
        weigh<false, Hidden>(s, rows, shrink, a_.scaleLog2);
        settle(s);
        stayBefore(rows, shared_.unused());
        waitProducts<0>();
        settle(o);
        settle(p);
        releaseValues();
        scaleSums(o, shrink);
        roundWeights<T>(s, p);
    }

    /// All in order.
    template <bool Hidden>
    __device__ __forceinline__ void stepInOrder(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2],
                                                Rows& rows, const Tile& t, int keyTile) {
        float shrink[2];
        sums(o, p);
        awaitKeys();
        startScores(s);
        waitProducts<0>();
        settle(s);
        releaseKeys();
        if (Hidden) hide(s, t, keyTile);
        weigh<false, Hidden>(s, rows, shrink, a_.scaleLog2);
        scaleSums(o, shrink);
        roundWeights<T>(s, p);
    }

    template <bool Hidden>
    __device__ __forceinline__ void step(float (&s)[scores], float (&o)[64], uint32_t (&p)[scores / 2], Rows& rows,
                                         const Tile& t, int keyTile) {
        if constexpr (C::beside)
            stepBeside<Hidden>(s, o, p, rows, t, keyTile);
        else
            stepInOrder<Hidden>(s, o, p, rows, t, keyTile);
    }

    __device__ __forceinline__ void attend(const Tile& t) {
        float s[scores], o[64], unused[2];
        uint32_t p[scores / 2];
        Rows rows;
#pragma unroll
        for (int i = 0; i < 64; ++i) o[i] = 0.f;

        wait(shared_.qFull(), queryPhase_);
        awaitKeys();
        startScores(s);
        waitProducts<0>();
        settle(s);
        releaseKeys();
        int keyTile = t.steps - 1;
        hide(s, t, keyTile);
        weigh<true, !C::oneHidden>(s, rows, unused, a_.scaleLog2);
        roundWeights<T>(s, p);

        --keyTile;
        if (!C::oneHidden && a_.causal) {
            const int firstHidden = (t.row + 64 * group_ + 1) / keysOfTile; // the group's first row sees those before
            for (; keyTile >= firstHidden; --keyTile) step<true>(s, o, p, rows, t, keyTile);
        }
        for (; keyTile >= 0; --keyTile) step<false>(s, o, p, rows, t, keyTile);
        release(shared_.qEmpty());
        queryPhase_ ^= 1;

        sums(o, p);
        finish(o, rows, t);
    }

    __device__ __forceinline__ void finish(const float (&o)[64], const Rows& rows, const Tile& t) const {
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const int row = t.row + warpRow_ + lane_ / 4 + 8 * r, quarter = lane_ % 4;
            const float sum = acrossRow(rows.sum[r], [](float x, float y) { return x + y; });
            const bool real = row < a_.queryTokens;
            if (a_.lse && real && quarter == 0)
                a_.lse[(int64_t(t.batch) * a_.queryHeads + t.head) * a_.queryTokens + row] =
                    fmaf(rows.greatest[r], a_.scale, logf(sum));
            const float share = 1.f / sum;
            storeRow<T>(static_cast<T*>(a_.out) + t.batch * a_.outStride[0] + row * a_.outStride[1] +
                            t.head * a_.outStride[2],
                        o, r, share, real);
        }
    }

    const Arguments& a_;
    const Shared<C>& shared_;
    Ring<stages> k_, v_;
    uint32_t queryPhase_ = 0;
    int group_, lane_, warpRow_;
    uint64_t queries_; // the operand
};

} // namespace fusescope::kernels::hopper
