// SPDX-License-Identifier: Apache-2.0
// What an input of a region is filled with, by what the region's nodes do with it. Private to core/region.
#pragma once

#include "core/region/subgraph.h"

#include <vector>

namespace fusescope::region {

class Fills {
public:
    explicit Fills(const fusion::GraphFlow& graph);

    // Whether a gradient flows to it in a training step: parameters, and what is computed from them.
    [[nodiscard]] bool wantsGradient(ValueId value) const { return value.valid() && gradient_[value.index()]; }
    // Whether the model has parameters that are trained.
    [[nodiscard]] bool trains() const { return trains_; }
    // A mask made of positions alone ("key <= query"), the same for all data. Not one of a window or of chunks.
    [[nodiscard]] bool isCausalMask(ValueId value) const;
    // Errors: sizes known only when the model runs, no type.
    [[nodiscard]] Result<RegionInput> inputOf(ValueId value, const Subgraph& part) const;

private:
    void fill(ValueId value, const Subgraph& part, RegionInput& input) const;
    void fillWhole(ValueId value, const std::vector<ValueId>& seen, const Subgraph& part, RegionInput& input) const;
    void fillFloat(ValueId value, const std::vector<ValueId>& seen, const Subgraph& part, RegionInput& input) const;
    [[nodiscard]] bool masksScores(NodeId user, ValueId value) const;

    const fusion::GraphFlow& graph_;
    std::vector<bool> gradient_; // per value
    bool trains_ = false;
};

} // namespace fusescope::region
