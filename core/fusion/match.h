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
