// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear_cross_entropy/plan.h"

#include "kernels/common/checks.h"
#include "kernels/common/matmul.h"

#include <algorithm>

namespace fusescope::kernels {
namespace {

constexpr int64_t rowAlignment = 128; // bytes

int64_t roundUp(int64_t v, int64_t to) { return (v + to - 1) / to * to; }

size_t aligned(int64_t bytes) { return size_t(roundUp(bytes, 256)); }

/// Columns that a lean call computes at a time. With 33 tiles of 256 and tokens in multiples of 512, tiles of 128 rows
/// fill Hopper's 132 multiprocessors in whole waves.
int64_t leanColumns(const FsLinearCrossEntropyForward& c, int64_t elementSize) {
    constexpr int64_t wave = 33 * 256, tile = 256, buffer = 160'000'000;
    if (c.chunk > 0) return std::min(roundUp(std::min(c.chunk, c.vocab), tile), c.vocab);
    // Not smaller than the sums of dx, which every chunk reads and writes once.
    const int64_t bytes = std::max(buffer, c.dx ? c.tokens * c.hidden * 4 : 0);
    const int64_t most = bytes / (c.tokens * elementSize);
    const int64_t columns = most >= wave ? most / wave * wave : std::max(most / tile, int64_t{2}) * tile;
    return std::min(columns, c.vocab);
}

LogitsPlan planOf(const FsLinearCrossEntropyForward& c, FsLinearCrossEntropyMode mode) {
    LogitsPlan p;
    p.mode = mode;
    p.tokens = c.tokens;
    p.hidden = c.hidden;
    p.vocab = c.vocab;
    p.elementSize = sizeOf(c.dtype);
    if (c.tokens == 0) return p;
    p.columns = mode == FS_LINEAR_CROSS_ENTROPY_FAST ? c.vocab : leanColumns(c, int64_t(p.elementSize));
    p.chunks = (c.vocab + p.columns - 1) / p.columns;
    if (c.dweight && aligned16(c.dweight))
        for (int64_t i = 1; i < p.chunks; ++i) {
            if (p.placeOf(i) + c.tokens * p.strideOf(i) > c.vocab * c.hidden) break;
            p.kept = i;
        }
    p.bytes = aligned(c.tokens * p.strideOf(0) * int64_t(p.elementSize));
    p.sums = p.bytes;
    if (c.dx && p.chunks > 1 && c.dtype != FS_F32) p.bytes += aligned(c.tokens * c.hidden * 4);
    p.statistics = p.bytes;
    p.bytes += 3 * aligned(c.tokens * 4);
    p.products = p.bytes;
    p.bytes += mostMatmulWorkspace;
    return p;
}

} // namespace

int64_t LogitsPlan::strideOf(int64_t chunk) const {
    return roundUp(columnsOf(chunk), rowAlignment / int64_t(elementSize));
}

// When chunk i is turned into gradients, the rows of dweight up to firstColumn(i + 1) are written, so the logits of the
// chunks after it must lie beyond. A chunk of logits takes columns * tokens elements and its rows of dweight columns *
// hidden: places that advance by the larger of the two keep ahead of the rows.
int64_t LogitsPlan::placeOf(int64_t chunk) const {
    return columns * hidden + (chunk - 1) * columns * std::max(tokens, hidden);
}

LogitsPlan planLogits(const FsLinearCrossEntropyForward& c) {
    // The loss alone is computed a chunk at a time in every mode: nothing needs the logits again.
    if (!c.dx && !c.dweight) return planOf(c, FS_LINEAR_CROSS_ENTROPY_LEAN);
    if (c.mode == FS_LINEAR_CROSS_ENTROPY_LEAN) return planOf(c, FS_LINEAR_CROSS_ENTROPY_LEAN);
    const LogitsPlan fast = planOf(c, FS_LINEAR_CROSS_ENTROPY_FAST);
    if (c.mode == FS_LINEAR_CROSS_ENTROPY_FAST) return fast;
    const uint64_t ofDx = c.dx ? uint64_t(c.tokens * c.hidden) : 0,
                   ofDweight = c.dweight ? uint64_t(c.vocab * c.hidden) : 0;
    const uint64_t all = fast.bytes + (ofDx + ofDweight) * fast.elementSize;
    return all <= c.memory_limit ? fast : planOf(c, FS_LINEAR_CROSS_ENTROPY_LEAN);
}

} // namespace fusescope::kernels
