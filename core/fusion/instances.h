// SPDX-License-Identifier: Apache-2.0
// From matches to instances: what graph and trace both found is one, with its forward and backward kernels.
// Private to core/fusion.
#pragma once

#include "core/fusion/finding.h"
#include "core/fusion/graph_flow.h"
#include "core/fusion/match.h"
#include "core/fusion/step_ops.h"

#include <vector>

namespace fusescope::fusion {

struct Draft { // an instance while it is made
    Instance instance;
    Geometry shape;
    std::vector<std::uint32_t> rows; // of StepOps: forward operators, recomputed ones too
    int recomputed = 0;              // times the forward is run again inside the backward pass
};

// How long a kernel takes: as measured, or scaled to the device of the input where that is another one.
[[nodiscard]] inline double kernelNs(const FusionInput& input, KernelId kernel) {
    const auto ns = static_cast<double>(input.trace->slices.dur[input.trace->kernels.slice[kernel.index()].index()]);
    const bool scaled = input.time_factors != nullptr && kernel.index() < input.time_factors->size();
    return scaled ? ns * (*input.time_factors)[kernel.index()] : ns;
}

// Joins what was found. graph and trace may be null (not both); so may the matches of the one that is.
[[nodiscard]] std::vector<Draft> joinMatches(const FusionInput& input, const GraphFlow* graph, const Matches* in_graph,
                                             const StepOps* trace, const Matches* in_trace);

// backward.cpp: kernels of the backward pass, by the forward operator they belong to.
void addBackward(const StepOps& trace, std::vector<Draft>& drafts);

// costs.cpp: sums of durations, of costs, and the GPU's waits between an instance's kernels.
void addCosts(const FusionInput& input, std::vector<Draft>& drafts);

} // namespace fusescope::fusion
