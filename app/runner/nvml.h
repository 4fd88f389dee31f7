// SPDX-License-Identifier: GPL-3.0-or-later
// What the driver's management library tells of a GPU. It is loaded where it is there; without it nothing is told.
#pragma once

#include <optional>
#include <string>

namespace fusescope::runner {

struct NvmlGpu {
    double total_bytes = 0, free_bytes = 0, used_bytes = 0;
    int utilization = 0; // percent of the last fraction of a second in which a kernel ran
};

[[nodiscard]] std::string driverVersion();                             // "580.159.04", or ""
[[nodiscard]] std::optional<NvmlGpu> nvmlGpu(const std::string& uuid); // "GPU-..."

} // namespace fusescope::runner
