// SPDX-License-Identifier: Apache-2.0
// Rotary embedding in fp64 on the CPU: what the kernels are compared with.
#pragma once

#include <cstdint>

namespace fusescope::kernels::reference {

/// x and y are [tokens][heads][headDim], cos and sin [tokens][headDim]; y may be x.
void ropeForward(const double* x, const double* cos, const double* sin, int64_t tokens, int64_t heads, int64_t headDim,
                 double* y);

/// dx from dy; dx may be dy.
void ropeBackward(const double* dy, const double* cos, const double* sin, int64_t tokens, int64_t heads,
                  int64_t headDim, double* dx);

} // namespace fusescope::kernels::reference
