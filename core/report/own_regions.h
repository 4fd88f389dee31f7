// SPDX-License-Identifier: Apache-2.0
// Regions of the user's own choice in reports: what JSON, HTML and Markdown share.
#pragma once

#include "core/report/measured_parts.h"

#include <string>
#include <vector>

namespace fusescope {

[[nodiscard]] std::string regionKind(const ChosenRegion& region); // "one kernel", "with the plan's fusions inside"
// "5 nodes of model.layers.0.mlp, 36 times per step, 80.0 µs each"
[[nodiscard]] std::string regionPlace(const Analysis& analysis, const ChosenRegion& region);
// Sentences: its limit or what the plan promises inside, what was taken and left out, what of it counts in the step.
[[nodiscard]] std::vector<std::string> regionNotes(const RegionView& view);
void writeRegions(JsonWriter& json, const Analysis& analysis, const MeasuredView& view); // an array

} // namespace fusescope
