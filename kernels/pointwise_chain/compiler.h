// SPDX-License-Identifier: Apache-2.0
// NVRTC, looked for when it is first needed: this library does not depend on it.
#pragma once

#include "kernels/common/abi.h"

#include <string>

namespace fusescope::kernels::chain {

/// What compiled code depends on beside its source: the compiler and how it is asked. FS_LIBRARY_ERROR without NVRTC.
FsStatus compilerFor(int computeCapability, std::string& identity);

/// Machine code of the source (PTX where this NVRTC does not know the device).
FsStatus compileSource(const std::string& source, int computeCapability, std::string& code);

} // namespace fusescope::kernels::chain
