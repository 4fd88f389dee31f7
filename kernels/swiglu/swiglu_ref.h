// SPDX-License-Identifier: Apache-2.0
// SwiGLU in fp64 on the CPU: what the kernels are compared with.
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

/// [rows][width] each; rows of gate and up start `inputStride` elements apart (2 * width in a packed tensor), those of
/// h lie side by side.
void swigluForward(const double* gate, const double* up, int64_t rows, int64_t width, int64_t inputStride, double* h);

/// dgate and dup have the rows of gate and up.
void swigluBackward(const double* dh, const double* gate, const double* up, int64_t rows, int64_t width,
                    int64_t inputStride, double* dgate, double* dup);

} // namespace fusescope::kernels::reference
