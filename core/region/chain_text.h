// SPDX-License-Identifier: Apache-2.0
// Elementwise nodes and row reductions as the text of fusescope::pointwise_chain (kernels/pointwise_chain has the
// format): one operator a line, each in the type of its result. Private to core/region.
#pragma once

#include "core/region/fills.h"

#include <string>

namespace fusescope::region {

// One step pointwise_chain(inputs, program). Without steps the form's reason is a sentence.
[[nodiscard]] Form chainForm(const fusion::GraphFlow& graph, const Subgraph& part);

// Why nothing can be trained through the part's chain, a sentence; "" where its backward is another chain
// (kernels/pointwise_chain/gradient.h).
[[nodiscard]] std::string chainBackwardProblem(const fusion::GraphFlow& graph, const Fills& fills,
                                               const Subgraph& part);

} // namespace fusescope::region
