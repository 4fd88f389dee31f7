// SPDX-License-Identifier: Apache-2.0
// What this process may still allocate: what the machine can give without swapping, and no more than the control groups
// around it (a container, a batch job, a service) leave. Beyond the latter the kernel ends the process.
#pragma once

#include <string>

namespace fusescope {

// Bytes; 0: not known. root: the folder that holds /proc and /sys.
[[nodiscard]] double availableMemory(const std::string& root = {});

} // namespace fusescope
