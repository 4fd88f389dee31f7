// SPDX-License-Identifier: Apache-2.0
// Results of the same inputs that two programs keep in one file.
#pragma once

#include "core/measured/measured_json.h"

namespace fusescope {

// What the file holds from now on. own: what the writer shows; all of it is kept but for what another has better.
// known: what the writer had when it read or wrote the file before: what it knew there and shows no more, it took away;
// anything else in the file is another writer's, and stays. Of a result that both have the one is kept that tells more:
// with a fused form, of a GPU, of one that was not busy in steady runs; of two of a kind the one that was measured
// later, unless the writer itself put the file's there. Of another writer's no more than one file holds beside the
// writer's own (core/measured/measured_json.h).
[[nodiscard]] MeasuredFile merged(MeasuredFile file, const MeasuredFile& own, const MeasuredFile& known);

} // namespace fusescope
