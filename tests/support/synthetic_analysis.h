// SPDX-License-Identifier: Apache-2.0
// A small analysis made by hand: a decoder's steps with CPU threads, a GPU stream, launches, a graph, findings and a
// plan. Pictures and reports are tested with it without any file.
#pragma once

#include "core/analysis/analysis.h"
#include "core/graph/op_graph.h"

#include <string>

namespace fusescope::testing {

struct SyntheticOptions {
    int layers = 4, steps = 2;
    bool trace = true, graph = true, findings = true;
    bool shuffle_idle = true;  // leave the GPU idle at places
    std::string name_suffix{}; // appended to names of kernels, ops, modules and files: hostile text
};
[[nodiscard]] AnalysisPtr syntheticAnalysis(const SyntheticOptions& options = {});
// The same as a value, to be changed before it is looked at.
[[nodiscard]] Analysis syntheticAnalysisValue(const SyntheticOptions& options = {});

// Only a trace (with link and index) of about so many slices: one CPU thread with operators and launches, one stream.
[[nodiscard]] Analysis syntheticTimeline(std::size_t slices);

} // namespace fusescope::testing
