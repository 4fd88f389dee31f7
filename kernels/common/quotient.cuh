// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace fusescope::kernels {

/// a / b of numbers that are not negative. Divisions of 64 bits cost several times those of 32.
__device__ __forceinline__ int64_t quotient(const int64_t& a, const int64_t& b) {
    return (a | b) >> 32 ? a / b : int64_t(uint32_t(a) / uint32_t(b));
}

} // namespace fusescope::kernels
