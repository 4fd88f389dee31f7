// SPDX-License-Identifier: Apache-2.0
// The thread that copies tiles of q, k and v into shared memory.
#pragma once

#include "kernels/attention/hopper_block.cuh"

namespace fusescope::kernels::hopper {

/// Copies `Rows` rows of a head, its halves one after the other.
template <int Rows>
__device__ __forceinline__ void copyTile(uint32_t to, const CUtensorMap* tensor, uint32_t full, int row, int head,
                                         int batch) {
    arriveExpecting(full, Rows * headDim * 2);
    copyBox(to, tensor, full, 0, row, head, batch);
    copyBox(to + Rows * rowBytes, tensor, full, headDim / 2, row, head, batch);
}

/// The thread that copies. The order is the one that the warpgroups use tiles in: v runs a tile behind k.
template <class C> class Copier {
public:
    __device__ __forceinline__ Copier(const Arguments& arguments, const Shared<C>& memory)
        : a_(arguments), shared_(memory) {}

    __device__ __forceinline__ void run() {
        for (int step = 0; step < a_.order.steps; ++step) {
            Tile t;
            if (!tileAt<C>(a_, step, t)) continue;
            const int last = t.steps - 1, keyHead = t.head / a_.headsOfKey;
            copyKeys(last, keyHead, t.batch);
            copyQueries(t);
            for (int i = last - 1; i >= 0; --i) {
                copyKeys(i, keyHead, t.batch);
                copyValues(i + 1, keyHead, t.batch);
            }
            copyValues(0, keyHead, t.batch);
        }
    }

private:
    __device__ __forceinline__ void copyQueries(const Tile& t) {
        wait(shared_.qEmpty(), queryPhase_ ^ 1);
        copyTile<C::rows>(shared_.q(), &a_.q, shared_.qFull(), t.row, t.head, t.batch);
        queryPhase_ ^= 1;
    }
    __device__ __forceinline__ void copyKeys(int tile, int head, int batch) {
        wait(shared_.kEmpty(k_.stage), k_.phase ^ 1);
        copyTile<keysOfTile>(shared_.k(k_.stage), &a_.k, shared_.kFull(k_.stage), tile * keysOfTile, head, batch);
        k_.next();
    }
    __device__ __forceinline__ void copyValues(int tile, int head, int batch) {
        wait(shared_.vEmpty(v_.stage), v_.phase ^ 1);
        copyTile<keysOfTile>(shared_.v(v_.stage), &a_.v, shared_.vFull(v_.stage), tile * keysOfTile, head, batch);
        v_.next();
    }

    const Arguments& a_;
    const Shared<C>& shared_;
    Ring<stages> k_, v_;
    uint32_t queryPhase_ = 0;
};

} // namespace fusescope::kernels::hopper
