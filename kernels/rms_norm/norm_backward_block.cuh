// SPDX-License-Identifier: Apache-2.0
// The norms' backward for rows of more than 32 vectors: a block fills a multiprocessor, and rows pass through its
// shared memory, copied there ahead of their use.
#pragma once

#include "kernels/common/async_copy.cuh"
#include "kernels/common/checks.h"
#include "kernels/common/dependent_launch.cuh"
#include "kernels/common/launch.h"
#include "kernels/common/reduce.cuh"
#include "kernels/rms_norm/norm_backward.cuh"
#include "kernels/rms_norm/norm_rows.h"

#include <algorithm>

namespace fusescope::kernels {

/// Rows of a group that are in shared memory: one being worked on, one on its way.
constexpr int stages = 2;

/// 16-byte pieces of dy, x and dsum that go with one vector of x.
template <class X, class W, bool Add>
inline constexpr int piecesOfVector = int(sizeof(Promoted<X, W>) / sizeof(X)) + (Add ? 2 : 1);

/// Threads of a block: all the registers of a multiprocessor, since one block fills it.
template <int Vectors> inline constexpr int blockThreads = Vectors == 4 ? 512 : Vectors == 2 ? 768 : 1024;

/// A block fills a multiprocessor and consists of groups of `groupThreads` threads, each with a row of its own and a
/// barrier of its own; their sums for dweight meet in shared memory at the end, so that few partial sums are written.
template <class X, class W, int Vectors, bool Add>
__global__ void __launch_bounds__(blockThreads<Vectors>, 1)
    normBackwardBlock(NormBackwardArguments<X, W> a, int groupThreads) {
    using Y = Promoted<X, W>;
    constexpr int n = vecWidth<X>, ofDy = int(sizeof(Y) / sizeof(X)), pieces = piecesOfVector<X, W, Add>;
    extern __shared__ uint4 ring[]; // [stage][vector][piece][thread]; a thread reads only what it copied itself
    __shared__ float scratch[2][32];
    allowNextLaunch();
    const int group = threadIdx.x / groupThreads, groups = blockDim.x / groupThreads;
    const int t = threadIdx.x - group * groupThreads;
    const int vectors = int(a.width / n);

    auto slot = [&](int stage, int k, int piece) -> uint4& {
        return ring[((stage * Vectors + k) * pieces + piece) * blockDim.x + threadIdx.x];
    };
    auto fetch = [&](int64_t row, int stage) {
        if (row < a.rows) {
            const Y* dy = a.dy.row(row);
            const X* x = a.x.row(row);
            const X* dsum = Add ? a.dsum.row(row) : nullptr;
#pragma unroll
            for (int k = 0; k < Vectors; ++k) {
                const int v = t + k * groupThreads;
                if (v >= vectors) continue;
#pragma unroll
                for (int p = 0; p < ofDy; ++p) copyAsync16(&slot(stage, k, p), dy + v * n + p * vecWidth<Y>);
                copyAsync16(&slot(stage, k, ofDy), x + v * n);
                if constexpr (Add) copyAsync16(&slot(stage, k, ofDy + 1), dsum + v * n);
            }
        }
        commitCopies();
    };
    auto rstdOf = [&](int64_t row) { return row < a.rows ? __ldg(a.rstd + row) : 0.f; };

    Vec<W, n> w[Vectors];
    float dweight[Vectors][n];
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
        if (const int v = t + k * groupThreads; v < vectors) w[k] = loadShared<n>(a.weight + v * n);
#pragma unroll
        for (int i = 0; i < n; ++i) dweight[k][i] = 0.f;
    }

    const int64_t first = int64_t(blockIdx.x) * groups + group, step = int64_t(gridDim.x) * groups;
    fetch(first, 0);
    float nextR = rstdOf(first);

    int stage = 0;
    for (int64_t row = first; row < a.rows; row += step, stage ^= 1) {
        fetch(row + step, stage ^ 1);
        const float r = nextR;
        nextR = rstdOf(row + step);
        waitCopies<1>();

        auto read = [&](int k, Vec<Y, n>& dy, Vec<X, n>& x) {
#pragma unroll
            for (int p = 0; p < ofDy; ++p) dy.piece(p) = slot(stage, k, p);
            x.piece(0) = slot(stage, k, ofDy);
        };

        float dot = 0.f;
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            if (t + k * groupThreads >= vectors) continue;
            Vec<Y, n> dy;
            Vec<X, n> x;
            read(k, dy, x);
            float g[n];
            scaled<X, W, n>(dy, w[k], a.once, g);
#pragma unroll
            for (int i = 0; i < n; ++i) dot += g[i] * toFloat(x.e[i]);
        }
        dot = sumGroup(dot, t, groupThreads, group + 1, scratch[stage] + group * (groupThreads / 32));
        const float c = -dot * r * r * r * a.inverseWidth;

        X* dx = a.dx.row(row);
#pragma unroll
        for (int k = 0; k < Vectors; ++k) {
            const int v = t + k * groupThreads;
            if (v >= vectors) continue;
            Vec<Y, n> dy;
            Vec<X, n> x, dsum;
            read(k, dy, x);
            if constexpr (Add) dsum.piece(0) = slot(stage, k, ofDy + 1);
            float g[n];
            scaled<X, W, n>(dy, w[k], a.once, g);
            addWeighed<X, W, n>(dy, x, r, a.once, dweight[k]);
            store<n>(dx + v * n, gradient<X, n, Add>(g, x, r, c, dsum, a.once));
        }
    }

    if (!a.partial) return;
    waitCopies<0>();
    __syncthreads();
    float* sums = reinterpret_cast<float*>(ring); // [group][width], where the rows were
#pragma unroll
    for (int k = 0; k < Vectors; ++k) {
        const int v = t + k * groupThreads;
        if (v >= vectors) continue;
        Vec<float, n> out;
#pragma unroll
        for (int i = 0; i < n; ++i) out.e[i] = dweight[k][i];
        auto* to = reinterpret_cast<uint4*>(sums + group * a.width + v * n);
#pragma unroll
        for (int i = 0; i < out.pieces; ++i) to[i] = out.piece(i);
    }
    __syncthreads();
    for (int column = threadIdx.x; column < int(a.width); column += blockDim.x) {
        float sum = 0.f;
        for (int g = 0; g < groups; ++g) sum += sums[g * a.width + column];
        a.partial[blockIdx.x * a.width + column] = sum;
    }
}

inline int64_t quotientUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How a block is divided for rows of so many vectors.
struct Groups {
    int threads;   // of a group
    int shared;    // bytes of a group
    int64_t count; // of a block; 0 where none fits
};

template <class X, class W, int Vectors, bool Add>
Groups groupsOf(const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    const int vectors = int(c.width / vecWidth<X>);
    Groups g{};
    g.threads = ((vectors + Vectors - 1) / Vectors + 31) / 32 * 32;
    g.shared = stages * piecesOfVector<X, W, Add> * Vectors * g.threads * 16;
    // As many groups as fit (15 barriers beside the block's own), but rather one on every multiprocessor than many on
    // one.
    g.count = std::min<int64_t>({15, blockThreads<Vectors> / g.threads, (device.sharedPerBlock - 1024) / g.shared,
                                 quotientUp(rowCount(c.sum), device.multiprocessors)});
    return g;
}

/// Vectors a thread: 2, unless many groups would have no row in their last round and with 4 or 1 fewer had none, or
/// a block had one group, which leaves its multiprocessor idle at every barrier (with dsum, which needs more shared
/// memory, one group is faster still: measured).
template <class X, class W, bool Add> int balancedPerThread(const FsAddRmsNormBackward& c, const DeviceFacts& device) {
    // Rows that a multiprocessor has time for until the last is done, its idle groups counted.
    auto slots = [&](const Groups& g) {
        if (g.count == 0) return int64_t{1} << 56;
        return g.count * quotientUp(rowCount(c.sum), g.count * device.multiprocessors);
    };
    const Groups ofTwo = groupsOf<X, W, 2, Add>(c, device), ofFour = groupsOf<X, W, 4, Add>(c, device);
    const int64_t one = slots(groupsOf<X, W, 1, Add>(c, device)), two = slots(ofTwo), four = slots(ofFour);
    if (!Add && ofTwo.count == 1 && ofFour.count > 1) return 20 * four <= 21 * two ? 4 : 2;
    if (four <= one && 10 * four <= 9 * two) return 4;
    return 10 * one <= 9 * two ? 1 : 2; // one that is hardly better may have other drawbacks
}

} // namespace fusescope::kernels
