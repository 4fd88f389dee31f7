// SPDX-License-Identifier: Apache-2.0
// What a fused form has to move and compute: external inputs and outputs only (facts/D2: what is saved for the
// backward, gradients of weights). Private to core/fusion.
#pragma once

#include "core/fusion/match.h"

#include <vector>

namespace fusescope::fusion {

// Kernels of one class reach alike shares of a plain copy's bandwidth; predict.cpp has the shares and their sources.
enum class KernelClass : std::uint8_t {
    Streaming,       // each element once, in order: SwiGLU
    Strided,         // each element once, in short pieces of another layout: RoPE on [B, H, T, D] views of [B, T, H, D]
    RowReduction,    // a row is reduced, then used: norm forward
    ColumnReduction, // sums over all rows too: norm backward with a weight gradient
    Attention,       // flash kernels
    Matmul,
};

struct FusedPart { // one kernel, or a few that belong together
    KernelClass kind = KernelClass::Streaming;
    bool backward = false;
    int kernels = 1;
    double read = 0, written = 0;
    double flops = 0; // on tensor cores
    [[nodiscard]] double bytes() const noexcept { return read + written; }
};

// Parts of the fused form; empty when the shapes are not known or nothing is computed (already fused).
// training: a backward pass follows. recomputed: how often the forward runs again in it.
[[nodiscard]] std::vector<FusedPart> fusedParts(Pattern pattern, const Geometry& shape, bool training,
                                                int recomputed = 0);

} // namespace fusescope::fusion
