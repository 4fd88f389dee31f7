// SPDX-License-Identifier: Apache-2.0
// The headless forms of an analysis. Each returns the whole text; writing it is the caller's.
#pragma once

#include "core/analysis/analysis.h"
#include "core/graph/layout.h"
#include "core/measured/measured.h"
#include "core/region/chosen.h"

#include <functional>
#include <span>
#include <string>

namespace fusescope {

// measured: what a runner measured of its findings. It stands beside predictions, and takes their place in savings and
// plan where it is of the GPU that they are for. regions: of the user's own choice; their results are in `measured`.
using ChosenRegions = std::span<const ChosenPtr>;
// Schema fusescope.analysis/1.
[[nodiscard]] std::string analysisJson(const Analysis& analysis, const MeasuredSet& measured = {},
                                       ChosenRegions regions = {});
[[nodiscard]] std::string analysisMarkdown(const Analysis& analysis, const MeasuredSet& measured = {},
                                           ChosenRegions regions = {});
using LayoutFunction = std::function<LayoutResult(const LayoutRequest&)>;
// One self-contained file: findings, pictures (SVG), tables; light and dark by the reader's preference.
[[nodiscard]] std::string analysisHtml(const Analysis& analysis, const LayoutFunction& layout,
                                       const MeasuredSet& measured = {}, ChosenRegions regions = {});
// torchinfo-like table: module, type, output shape, parameters, FLOPs, share of time.
[[nodiscard]] std::string graphSummary(const Analysis& analysis);
[[nodiscard]] std::string graphJson(const ModelGraph& graph); // fusescope.graph/1

} // namespace fusescope
