// SPDX-License-Identifier: Apache-2.0
// What the warpgroups of a block share: the call, its tiles, and where things are in shared memory.
#pragma once

#include "kernels/attention/hopper.cuh"
#include "kernels/attention/tiles.cuh"

#include <cstdint>
#include <cuda.h>

namespace fusescope::kernels::hopper {

constexpr int headDim = 128, warpgroup = 128, rowBytes = 128; // rowBytes: of half a head, what a swizzled row holds
constexpr int keysOfTile = 128, tileBytes = keysOfTile * headDim * 2;
constexpr int stages = 2; // tiles of k, and of v, in shared memory

template <int Groups> struct Config {
    static constexpr int groups = Groups, rows = 64 * Groups, threads = warpgroup * (Groups + 1);
    static constexpr bool beside = Groups == 2; // the next scores beside the product with v
    // 65536 registers, in eights a thread: as many as the block starts with.
    static constexpr int copierRegisters = Groups == 2 ? 24 : 32, groupRegisters = Groups == 2 ? 240 : 160;
    static constexpr int queryBytes = rows * headDim * 2;
    static constexpr int barriers = 2 + 4 * stages;
    static constexpr int sharedBytes = 1024 + queryBytes + 2 * stages * tileBytes + 8 * (barriers + 1);
    static_assert(sharedBytes <= 227 * 1024);
    // Where tiles of keys end where tiles of queries do, only the first tile that a block visits has hidden keys.
    static constexpr bool oneHidden = keysOfTile % rows == 0;
};

struct Arguments {
    CUtensorMap q, k, v;
    TileOrder order;
    void* out;
    float* lse;
    int64_t outStride[3];
    int queryTokens, keyTokens, queryHeads, headsOfKey;
    float scale, scaleLog2; // scaleLog2: times log2(e), for powers of two
    bool causal;
};

/// A tile of queries: of one head of one batch, its first row, and the tiles of keys it sees.
struct Tile {
    int batch, head, row, steps;
};

template <class C> __device__ __forceinline__ bool tileAt(const Arguments& a, int step, Tile& t) {
    Place place;
    if (!placeAt(a.order, step, place)) return false;
    t.batch = place.head / a.queryHeads;
    t.head = place.head - t.batch * a.queryHeads;
    t.row = place.tile * C::rows;
    const int seen = a.causal ? min(a.keyTokens, min(t.row + C::rows, a.queryTokens)) : a.keyTokens;
    t.steps = (seen + keysOfTile - 1) / keysOfTile;
    return true;
}

/// Where things are in shared memory.
template <class C> struct Shared {
    uint32_t base;

    __device__ __forceinline__ explicit Shared(const void* memory) : base((sharedAddress(memory) + 1023) & ~1023u) {}
    __device__ __forceinline__ uint32_t q() const { return base; }
    __device__ __forceinline__ uint32_t k(int stage) const { return base + C::queryBytes + stage * tileBytes; }
    __device__ __forceinline__ uint32_t v(int stage) const { return k(stages + stage); }
    __device__ __forceinline__ uint32_t barrier(int i) const { return k(2 * stages) + 8 * i; }
    __device__ __forceinline__ uint32_t unused() const { return barrier(C::barriers); }
    // Full: the copy has come. Empty: all warps have done with it.
    __device__ __forceinline__ uint32_t kFull(int stage) const { return barrier(stage); }
    __device__ __forceinline__ uint32_t kEmpty(int stage) const { return barrier(stages + stage); }
    __device__ __forceinline__ uint32_t vFull(int stage) const { return barrier(2 * stages + stage); }
    __device__ __forceinline__ uint32_t vEmpty(int stage) const { return barrier(3 * stages + stage); }
    __device__ __forceinline__ uint32_t qFull() const { return barrier(4 * stages); }
    __device__ __forceinline__ uint32_t qEmpty() const { return barrier(4 * stages + 1); }
};

/// A stage of a ring and the parity of the round it is in.
template <int Stages> struct Ring {
    int stage = 0;
    uint32_t phase = 0;

    __device__ __forceinline__ void next() {
        if (++stage == Stages) {
            stage = 0;
            phase ^= 1;
        }
    }
};

} // namespace fusescope::kernels::hopper
