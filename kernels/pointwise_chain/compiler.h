// SPDX-License-Identifier: Apache-2.0
// NVRTC, looked for when it is first needed: this library does not depend on it.
#pragma once

#include "kernels/common/abi.h"

#include <string>
#include <vector>

namespace fusescope::kernels::chain {

/// NVRTC's libraries for a driver (12080 is CUDA 12.8; 0 is none), the best first: a driver loads no code of a newer
/// major version than its own, and that of older ones.
inline std::vector<std::string> compilerLibraries(int driverVersion) {
    std::vector<std::string> names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
    if (driverVersion > 0 && driverVersion < 13000) names.erase(names.begin());
    return names;
}

/// What compiled code depends on beside its source: the compiler and how it is asked. FS_LIBRARY_ERROR without NVRTC.
FsStatus compilerFor(int computeCapability, std::string& identity);

/// Machine code of the source (PTX where this NVRTC does not know the device).
FsStatus compileSource(const std::string& source, int computeCapability, std::string& code);

} // namespace fusescope::kernels::chain
