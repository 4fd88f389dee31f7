// SPDX-License-Identifier: GPL-3.0-or-later
// What a region's baseline gives in fp64: the values that errors are measured against.
#pragma once

#include "device.h"
#include "region_run.h"

#include <optional>
#include <string>

namespace fusescope::runner {

struct Truth {
    std::optional<Values> values;
    std::string note; // why there are none
};

// `inputs` and `out_gradients` are the baseline's own, `run_bytes` what it allocated for a run. On the GPU when its
// fp64 form fits there, else on the CPU when it is small. Throws Failed only when the whole request ends.
[[nodiscard]] Truth truthOf(const Region& region, const Tensors& inputs, const Tensors& out_gradients, double run_bytes,
                            const Device& device, const Job& job);

} // namespace fusescope::runner
