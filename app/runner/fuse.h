// SPDX-License-Identifier: GPL-3.0-or-later
// Measures a region: its baseline and its fused form, forward and backward.
#pragma once

#include "device.h"
#include "job.h"

namespace fusescope::runner {

// Throws Failed, or what Torch throws. `other_job`: said in the result's busy note.
[[nodiscard]] FuseResult fuse(const FuseRequest& request, const Device& device, Job& job, std::string other_job);

} // namespace fusescope::runner
