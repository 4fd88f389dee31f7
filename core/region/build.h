// SPDX-License-Identifier: Apache-2.0
// Makes regions: from graph nodes, from the catalogue at a trace's shapes, from a module of the graph with findings
// fused in.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/program.h"

#include <span>
#include <string_view>
#include <vector>

namespace fusescope {

// The nodes and what enters and leaves them. Inputs are the values made outside; outputs those used outside (or by
// nobody). Errors: a node of a symbolic size, more than the bounds, nodes that do not enclose their flow (not convex: a
// value leaves and comes back).
[[nodiscard]] Result<Region> regionOfNodes(const ModelGraph& model, std::span<const NodeId> nodes);

// One instance of a finding: its nodes where the graph has them, else the catalogue's form at its shapes. `fused` is
// the catalogue's operator; a chain of elementwise operators becomes pointwise_chain. Where there is no fused form the
// region says why.
[[nodiscard]] Result<Region> regionOfInstance(const Analysis& analysis, const Finding& finding, std::size_t index);

// The instances of a finding that differ in what would be measured: one of each shape, with how many there are of it.
struct RegionClass {
    std::size_t instance = 0; // the first
    std::size_t count = 0;
    std::vector<std::uint32_t> members; // all of them, ascending
};
[[nodiscard]] std::vector<RegionClass> distinctInstances(const Analysis& analysis, const Finding& finding);

// All nodes of a module ("model.layers.0", "" for the whole model) as they are and with the chosen findings' instances
// replaced by their fused operators.
[[nodiscard]] Result<Region> regionOfModule(const Analysis& analysis, std::string_view module,
                                            std::span<const std::string> findings);
// The same of any nodes that enclose their flow.
[[nodiscard]] Result<Region> regionOfNodes(const Analysis& analysis, std::span<const NodeId> nodes,
                                           std::span<const std::string> findings);

} // namespace fusescope
