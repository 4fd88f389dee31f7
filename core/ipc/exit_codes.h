// SPDX-License-Identifier: Apache-2.0
// Exit statuses of every program; scripts depend on them.
#pragma once

namespace fusescope {

enum ExitCode : int {
    kExitOk = 0,          // done, also when a damaged input was recovered
    kExitUsage = 2,       // wrong use
    kExitNoInput = 3,     // no usable input
    kExitRunnerFailed = 4 // the GPU worker failed
};

} // namespace fusescope
