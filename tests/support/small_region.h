// SPDX-License-Identifier: Apache-2.0
// The smallest region that a runner can be asked for: one operator on one tensor.
#pragma once

#include "core/region/program.h"

namespace fusescope::test {

inline Region smallRegion() {
    Region region;
    region.id = region.pattern = "rms_norm";
    RegionInput x;
    x.name = "x";
    x.meta.dtype = DType::BFloat16;
    x.meta.sizes = {64, 64};
    region.inputs.push_back(x);
    RegionStep step;
    step.op = "aten::neg";
    step.args.push_back({"self", false, RegionRef{-1, 0}});
    region.baseline.steps.push_back(step);
    region.baseline.outputs.push_back({0, 0});
    return region;
}

} // namespace fusescope::test
