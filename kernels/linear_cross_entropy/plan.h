// SPDX-License-Identifier: Apache-2.0
// Which columns of the logits are computed when, and where they lie.
#pragma once

#include "kernels/linear_cross_entropy/linear_cross_entropy.h"

namespace fusescope::kernels {

/// The vocabulary in `chunks` of `columns` (the last may be narrower). All chunks pass through one buffer of the
/// workspace. Chunk 0 comes last in the first pass and first in the second, so that it stays in that buffer; chunks 1
/// to `kept` stay in the memory of dweight, and what is above is computed in both passes.
struct LogitsPlan {
    FsLinearCrossEntropyMode mode = FS_LINEAR_CROSS_ENTROPY_LEAN;
    int64_t tokens = 0, hidden = 0, vocab = 0;
    size_t elementSize = 0;
    int64_t columns = 0;
    int64_t chunks = 0;
    int64_t kept = 0;
    size_t sums = 0, statistics = 0, products = 0; ///< offsets into the workspace; the logits' buffer is at 0
    size_t bytes = 0;

    int64_t firstColumn(int64_t chunk) const { return chunk * columns; }
    int64_t columnsOf(int64_t chunk) const {
        const int64_t left = vocab - firstColumn(chunk);
        return left < columns ? left : columns;
    }
    /// Elements from row to row of a chunk: rows start at multiples of 128 bytes.
    int64_t strideOf(int64_t chunk) const;
    /// Element of dweight where a kept chunk's logits start.
    int64_t placeOf(int64_t chunk) const;
    bool inDweight(int64_t chunk) const { return chunk >= 1 && chunk <= kept; }
};

/// The call has been checked.
LogitsPlan planLogits(const FsLinearCrossEntropyForward& call);

} // namespace fusescope::kernels
