// SPDX-License-Identifier: GPL-3.0-or-later
// What `fuse --region` names: findings, single instances of them, layers, the model, nodes of the graph.
#pragma once

#include "core/analysis/analysis.h"
#include "core/region/program.h"
#include "core/report/fuse_report.h"

#include <string>
#include <vector>

namespace fusescope::cli {

struct RequestedRegion {
    MeasuredRegion about; // with an error where no region could be made
    Region region;
};

// "all", "rms_norm", "rms_norm#3", "layer.0", "model", "model.layers.0.mlp", "nodes:silu+mul_15". Error NotFound: no
// such id; another: what it needs is not there.
[[nodiscard]] Result<std::vector<RequestedRegion>> chooseRegions(const Analysis& analysis, const std::string& id);

} // namespace fusescope::cli
