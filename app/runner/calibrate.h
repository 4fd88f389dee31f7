// SPDX-License-Identifier: GPL-3.0-or-later
// What the device reaches in practice: copy bandwidth, bf16 matrix products, launches. Under ten seconds.
#pragma once

#include "device.h"
#include "job.h"

namespace fusescope::runner {

[[nodiscard]] CalibrateResult calibrate(const Device& device, Job& job);

} // namespace fusescope::runner
