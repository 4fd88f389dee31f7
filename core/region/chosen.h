// SPDX-License-Identifier: Apache-2.0
// What the user chose to run beyond the findings: nodes of the graph, kernels of a range of the timeline, a module. It
// is described as a finding is, so that whatever measures and shows findings takes it as it is.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/program.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace fusescope {

// One of them is set.
struct RegionWish {
    std::vector<NodeId> nodes;
    std::vector<KernelId> kernels; // stand for the nodes that they are linked to
    ModuleId module;               // of Link::modules
    [[nodiscard]] bool empty() const noexcept { return nodes.empty() && kernels.empty() && !module.valid(); }
};

struct ChosenRegion {
    std::string id;     // "nodes.1f3a90c2", "module.model.layers.0": the same for the same choice
    std::string title;  // "silu, mul of model.layers.0.mlp"
    std::string module; // path in the graph: the innermost one around the nodes; of a module's region, the module
    std::vector<std::string> nodes;   // names in the graph; empty: the whole module with fusions swapped in
    std::vector<std::string> fusions; // ids of findings whose instances inside are swapped in
    std::string note;                 // what was added to the choice and what was left out; "": nothing
    // Not "": a sentence on why the step's times are not of what is measured; its instances then have none.
    std::string other_sizes;
    // As a finding of one instance a layer where layers are identical (and a run of the model, where the step has
    // several). Its savings are the plan's inside where that is swapped in; else what a kernel that only moves what
    // enters and leaves could save, and no prediction.
    Finding work;
    // Where nothing is swapped in, one instance at that kernel's speed; 0 not known. Backward: where it has a fused
    // form that is trained through.
    double limit_ns = 0, limit_backward_ns = 0;
    bool has_form = false;
    bool backward = false; // measured backward too
    std::string reason;    // why it has no fused form, or what that leaves out
    [[nodiscard]] bool wholeModule() const noexcept { return nodes.empty(); }
    // Measured with other findings' fusions inside, instead of as one kernel.
    [[nodiscard]] bool swapsIn() const noexcept { return wholeModule() || !fusions.empty(); }
    // There is a step, and it does not run this, or at other sizes.
    [[nodiscard]] bool lacksTimes() const noexcept {
        return !work.time_estimated && !(work.time_ns > 0) && !work.instances.empty() &&
               std::none_of(work.instances.begin(), work.instances.end(),
                            [](const Instance& one) { return one.forward_ns + one.backward_ns > 0; });
    }
};

using ChosenPtr = std::shared_ptr<const ChosenRegion>;

// What a wish comes to: a finding where it has exactly these nodes, else a region.
struct ChosenWork {
    std::optional<std::uint32_t> finding; // row
    ChosenRegion chosen;
    Region region;
};

// Nodes that leave a gap are completed where it is small. A module is run with the plan's fusions where some lie
// inside; so are nodes that cannot be one elementwise kernel. Errors (with what was found where): no graph, no node
// behind the kernels, a value that leaves and comes back through many nodes, and those of regionOfNodes() and
// regionOfModule().
[[nodiscard]] Result<ChosenWork> workOfWish(const Analysis& analysis, const RegionWish& wish);
// The same choice in these files, from its module, nodes, fusions and note (of a saved session, or after another step
// was chosen).
[[nodiscard]] Result<ChosenWork> workOfChosen(const Analysis& analysis, const ChosenRegion& chosen);

// In the names' order. Errors: the first name that no node has.
[[nodiscard]] Result<std::vector<NodeId>> nodesByName(const ModelGraph& model, std::span<const std::string> names);

// A number for its id that stays the same.
[[nodiscard]] std::uint32_t numberOf(const std::string& region_id) noexcept;

} // namespace fusescope
