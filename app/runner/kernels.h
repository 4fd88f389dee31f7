// SPDX-License-Identifier: GPL-3.0-or-later
// libfusescope_kernels.so: the fused operators, which register themselves with Torch when they are loaded.
#pragma once

#include <string>

namespace fusescope::runner {

// Loads the library that FUSESCOPE_KERNELS_LIBRARY names, else the one beside the program. Why not, or "".
[[nodiscard]] std::string loadKernels();

} // namespace fusescope::runner
