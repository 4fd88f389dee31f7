// SPDX-License-Identifier: Apache-2.0
// What a pattern matcher reports, before graph and trace are joined and costs are known. Private to core/fusion.
#pragma once

#include "core/base/ids.h"
#include "core/base/tensor.h"
#include "core/fusion/catalog.h"
#include "core/fusion/finding.h"

#include <cstdint>
#include <string>
#include <vector>

namespace fusescope::fusion {

// The sizes that a pattern's cost formulas need (traffic.h tells which pattern reads which). 0 = not known.
struct Geometry {
    DType dtype = DType::Unknown;  // of the activations outside the pattern
    double rows = 0;               // tokens, or rows that are normalised
    double width = 0;              // normalised width; intermediate size; vocabulary; summed outputs of q, k, v
    double hidden = 0;             // inner size of the projection
    bool residual_gradient = true; // add + norm: a gradient comes along the residual too (not behind the last norm)
    double batch = 0, heads = 0, kv_heads = 0, q_len = 0, kv_len = 0, head_dim = 0; // attention, RoPE
    [[nodiscard]] bool known() const noexcept { return dtype != DType::Unknown && (rows > 0 || heads > 0); }
};

// One occurrence. In a graph: nodes. In a trace: rows of StepOps, or (fused kernels known by name) kernels alone.
struct Match {
    Pattern pattern = Pattern::PointwiseChain;
    FusionState state = FusionState::Unfused;
    Geometry shape;
    std::vector<NodeId> nodes;      // topological
    std::vector<std::uint32_t> ops; // rows of StepOps::ops, in time order
    std::vector<KernelId> kernels;  // forward, in time order
    std::string note;
};

// Looks like a pattern and is none: said aloud, so that "no finding" can be told from "not recognised".
struct NearMiss {
    Pattern pattern = Pattern::PointwiseChain;
    std::string where;  // node name, or operator with its module
    std::string reason; // "pow_1 is also used by mul_7"
};

struct Matches {
    std::vector<Match> found;
    std::vector<NearMiss> misses;
};

} // namespace fusescope::fusion
