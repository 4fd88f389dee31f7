// SPDX-License-Identifier: Apache-2.0
// What the warpgroups of a block of attention's backward share: the call, its tiles, and where things are in shared
// memory.
#pragma once

#include "kernels/attention/hopper_block.cuh"

#include <cstdint>
#include <cuda.h>

namespace fusescope::kernels::hopper::backward {

constexpr int queriesOfTile = 64, workers = 2, threads = warpgroup * (workers + 1);
constexpr int keysOfWorker = keysOfTile / workers;
constexpr int queryBytes = queriesOfTile * headDim * 2, scalarBytes = queriesOfTile * 4;
constexpr int depthOfQ = 4, depthOfDout = 2; // tiles in shared memory: powers of two
constexpr int sumsOfTile = queriesOfTile * headDim;

/// The scratch memory: for each head of q, rounded up to whole tiles of queries.
struct Scratch {
    float* lse2;  // log2 of the sum of exponentials: lse * log2(e); +inf past the last query
    float* delta; // the sum of out * dout over head_dim; 0 past the last query
    float* dq;    // sums of dq / scale, a tile of queries as the accumulators of two warpgroups, see storeSums()
    int* taken;   // tiles of keys that blocks took after their first
};

struct Arguments {
    CUtensorMap q, k, v, dout;
    Scratch scratch;
    void *dk, *dv;
    int64_t dkStride[3], dvStride[3];
    int queryTokens, keyTokens, queryTiles, queryHeads, keyHeads, headsOfKey;
    int keyTiles;                  // of all heads and batches
    int tilesOfHead, sectionHeads; // the order of tiles of keys, see KeyTile
    bool headsInside;              // of a tile of queries all heads follow each other, or of a head all tiles
    int lanesThatArrive;           // of a warp, where it is through with a tile: 1, or all for racecheck
    float scale, scaleLog2;
    bool causal;
};

/// A tile of keys of one head of k, and the first tile of queries that sees some of it, in each of headsOfKey heads of
/// q.
struct KeyTile {
    int batch, head, key, firstQueries;

    /// Heads are taken in sections, of about two tiles for each block: what they read and add to stays in L2. In a
    /// section tiles go by falling cost, as far as causal makes costs differ, the heads side by side.
    __device__ __forceinline__ KeyTile(const Arguments& a, int item) {
        const int sectionTiles = a.sectionHeads * a.tilesOfHead, firstHead = item / sectionTiles * a.sectionHeads;
        item -= firstHead * a.tilesOfHead;
        const int heads = min(a.sectionHeads, a.keyTiles / a.tilesOfHead - firstHead), level = item / heads;
        head = firstHead + item - level * heads;
        batch = head / a.keyHeads;
        head -= batch * a.keyHeads;
        key = level * keysOfTile;
        firstQueries = a.causal ? min(key / queriesOfTile, a.queryTiles) : 0;
    }
};

/// How many tiles of queries that is, over all heads.
__device__ __forceinline__ int queryTilesOf(const Arguments& a, const KeyTile& t) {
    return (a.queryTiles - t.firstQueries) * a.headsOfKey;
}

/// What the warpgroups are told of a tile of queries.
struct QueryTile {
    int first;  // query
    int number; // of the tile among those of all heads and batches
};

/// Where tile number n of all that a block visits is in a ring, and the parity of its round.
template <int Depth> __device__ __forceinline__ int stageOf(uint32_t n) { return int(n % Depth); }
template <int Depth> __device__ __forceinline__ uint32_t roundOf(uint32_t n) { return n / Depth & 1; }

/// Where things are in shared memory.
struct Shared {
    static constexpr int ofK = 0, ofV = tileBytes, ofQ = 2 * tileBytes, ofDout = ofQ + depthOfQ * queryBytes,
                         ofDs = ofDout + depthOfDout * queryBytes, ofLse2 = ofDs + 2 * queryBytes,
                         ofDelta = ofLse2 + depthOfQ * scalarBytes, ofTiles = ofDelta + depthOfDout * scalarBytes,
                         ofItem = ofTiles + depthOfQ * int(sizeof(QueryTile)), ofBarriers = ofItem + 8;
    static constexpr int barriers = 2 + 2 * depthOfQ + 2 * depthOfDout;
    static constexpr int bytes = 1024 + ofBarriers + 8 * barriers;
    static_assert(bytes <= 227 * 1024 && ofBarriers % 8 == 0);

    uint32_t base;

    __device__ __forceinline__ explicit Shared(const void* memory) : base((sharedAddress(memory) + 1023) & ~1023u) {}
    __device__ __forceinline__ uint32_t k() const { return base + ofK; }
    __device__ __forceinline__ uint32_t v() const { return base + ofV; }
    __device__ __forceinline__ uint32_t q(int stage) const { return base + ofQ + stage * queryBytes; }
    __device__ __forceinline__ uint32_t dout(int stage) const { return base + ofDout + stage * queryBytes; }
    __device__ __forceinline__ uint32_t ds(int which) const { return base + ofDs + which * queryBytes; }
    __device__ __forceinline__ uint32_t lse2(int stage) const { return base + ofLse2 + stage * scalarBytes; }
    __device__ __forceinline__ uint32_t delta(int stage) const { return base + ofDelta + stage * scalarBytes; }
    __device__ __forceinline__ uint32_t tile(int stage) const {
        return base + ofTiles + stage * int(sizeof(QueryTile));
    }
    __device__ __forceinline__ uint32_t item() const { return base + ofItem; }
    __device__ __forceinline__ uint32_t barrier(int i) const { return base + ofBarriers + 8 * i; }
    // Full: the copies have come. Empty: all warps have done with them.
    __device__ __forceinline__ uint32_t keysFull() const { return barrier(0); }
    __device__ __forceinline__ uint32_t keysEmpty() const { return barrier(1); }
    __device__ __forceinline__ uint32_t qFull(int stage) const { return barrier(2 + stage); }
    __device__ __forceinline__ uint32_t qEmpty(int stage) const { return barrier(2 + depthOfQ + stage); }
    __device__ __forceinline__ uint32_t doutFull(int stage) const { return barrier(2 + 2 * depthOfQ + stage); }
    __device__ __forceinline__ uint32_t doutEmpty(int stage) const {
        return barrier(2 + 2 * depthOfQ + depthOfDout + stage);
    }
};

} // namespace fusescope::kernels::hopper::backward
