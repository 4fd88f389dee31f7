// SPDX-License-Identifier: Apache-2.0
// Compiled regions: in memory for the life of the process, and on disk between processes.
#pragma once

#include "kernels/common/abi.h"

#include <cuda_runtime_api.h>
#include <string>

namespace fusescope::kernels::chain {

/// The kernel of a source on devices of a compute capability: from memory, from disk, or compiled. May be called by
/// many threads; each source is compiled once, and different ones at the same time.
FsStatus kernelFor(const std::string& source, int computeCapability, cudaKernel_t& kernel);

/// Its machine code: from disk, or compiled and kept there.
FsStatus codeFor(const std::string& source, int computeCapability, std::string& code);

/// See fusescope_pointwise_chain_cache_folder().
void setCacheFolder(const char* folder);

} // namespace fusescope::kernels::chain
