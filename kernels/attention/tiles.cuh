// SPDX-License-Identifier: Apache-2.0
// Which tiles of queries a block works on, and in what order.
//
// Causal tiles cost from one step to all of them, so blocks start with the costly ones. Heads are taken in sections
// whose keys and values stay in L2; in a section, tiles go by falling cost, heads of the same keys side by side.
// The blocks of a persistent grid take a tile each round, every other round in reverse order: what a round gives a
// block too much the next takes back.
#pragma once

#include <cstdint>

namespace fusescope::kernels {

struct TileOrder {
    int tilesOfHead;
    int heads;        // of all batches
    int sectionHeads; // in a section; the last may have fewer
    int rounds;       // in a section
    int steps;        // rounds of all sections
    bool falling;     // last tiles first
};

struct Place {
    int head, tile;
};

/// What this block does in a step, if anything.
__device__ __forceinline__ bool placeAt(const TileOrder& order, int step, Place& place) {
    const int section = step / order.rounds, round = step - section * order.rounds;
    const bool reverse = ((round + section) & 1) != 0;
    const int item = round * int(gridDim.x) + int(reverse ? gridDim.x - 1 - blockIdx.x : blockIdx.x);
    const int firstHead = section * order.sectionHeads;
    const int heads = min(order.sectionHeads, order.heads - firstHead);
    if (item >= heads * order.tilesOfHead) return false;
    const int level = item / heads;
    place.head = firstHead + item - level * heads;
    place.tile = order.falling ? order.tilesOfHead - 1 - level : level;
    return true;
}

} // namespace fusescope::kernels
