// SPDX-License-Identifier: Apache-2.0
// The thread that copies tiles of k and v, q and dout into shared memory for attention's backward.
#pragma once

#include "kernels/attention/backward_block.cuh"

namespace fusescope::kernels::hopper::backward {

class Copier {
public:
    __device__ __forceinline__ Copier(const Arguments& arguments, const Shared& memory)
        : a_(arguments), shared_(memory) {}

    /// Each block takes the next tile of keys when it is through with one: the costly ones are first, and the cheap
    /// ones fill up what is left.
    __device__ __forceinline__ void run() {
        for (int item = int(blockIdx.x); item < a_.keyTiles; item = int(gridDim.x) + atomicAdd(a_.scratch.taken, 1)) {
            const KeyTile t(a_, item);
            copyKeys(t, item);
            // From the last tile to the first: blocks with the same head of k read the same queries at about the same
            // time, from L2.
            const int firstHead = t.head * a_.headsOfKey;
            for (int outer = 0; outer < (a_.headsInside ? 1 : a_.headsOfKey); ++outer)
                for (int tile = a_.queryTiles - 1; tile >= t.firstQueries; --tile)
                    for (int inner = 0; inner < (a_.headsInside ? a_.headsOfKey : 1); ++inner)
                        copyQueries(firstHead + outer + inner, tile, t.batch);
        }
        awaitWorkers();
        tellItem(-1);
        arrive(shared_.keysFull());
    }

private:
    /// A box of `rows` rows of a head, its halves one after the other.
    static __device__ __forceinline__ void copyHead(uint32_t to, const CUtensorMap* tensor, uint32_t full, int rows,
                                                    int row, int head, int batch) {
        copyBox(to, tensor, full, 0, row, head, batch);
        copyBox(to + rows * rowBytes, tensor, full, headDim / 2, row, head, batch);
    }

    __device__ __forceinline__ void awaitWorkers() {
        wait(shared_.keysEmpty(), keysPhase_ ^ 1);
        keysPhase_ ^= 1;
    }

    __device__ __forceinline__ void tellItem(int item) {
        asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_.item()), "r"(item) : "memory");
    }

    __device__ __forceinline__ void copyKeys(const KeyTile& t, int item) {
        awaitWorkers();
        tellItem(item);
        arriveExpecting(shared_.keysFull(), 2 * tileBytes);
        copyHead(shared_.k(), &a_.k, shared_.keysFull(), keysOfTile, t.key, t.head, t.batch);
        copyHead(shared_.v(), &a_.v, shared_.keysFull(), keysOfTile, t.key, t.head, t.batch);
    }

    /// Tiles of q and dout, and what belongs to each of their rows.
    __device__ __forceinline__ void copyQueries(int head, int tile, int batch) {
        const int number = (batch * a_.queryHeads + head) * a_.queryTiles + tile, first = tile * queriesOfTile;
        const int64_t firstRow = int64_t(number) * queriesOfTile;
        const int q = stageOf<depthOfQ>(count_), dout = stageOf<depthOfDout>(count_);

        wait(shared_.qEmpty(q), roundOf<depthOfQ>(count_) ^ 1);
        asm volatile("st.shared.v2.u32 [%0], {%1, %2};" ::"r"(shared_.tile(q)), "r"(first), "r"(number) : "memory");
        arriveExpecting(shared_.qFull(q), queryBytes + scalarBytes);
        copyHead(shared_.q(q), &a_.q, shared_.qFull(q), queriesOfTile, first, head, batch);
        copyBytes(shared_.lse2(q), a_.scratch.lse2 + firstRow, scalarBytes, shared_.qFull(q));

        wait(shared_.doutEmpty(dout), roundOf<depthOfDout>(count_) ^ 1);
        arriveExpecting(shared_.doutFull(dout), queryBytes + scalarBytes);
        copyHead(shared_.dout(dout), &a_.dout, shared_.doutFull(dout), queriesOfTile, first, head, batch);
        copyBytes(shared_.delta(dout), a_.scratch.delta + firstRow, scalarBytes, shared_.doutFull(dout));
        ++count_;
    }

    const Arguments& a_;
    const Shared& shared_;
    uint32_t count_ = 0; // of tiles of queries
    uint32_t keysPhase_ = 0;
};

} // namespace fusescope::kernels::hopper::backward
