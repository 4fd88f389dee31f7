// SPDX-License-Identifier: Apache-2.0
// Rounding to the element types on the host.
#pragma once

#include "kernels/pointwise_chain/program.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fusescope::kernels::chain {

/// To the nearest value with `bits` of mantissa (the leading one included) and exponents from `lowest`, ties to even.
inline double roundToBits(double v, int bits, int lowest, double most) {
    if (v == 0 || !std::isfinite(v)) return v;
    const int exponent = std::max(std::ilogb(v), lowest) - (bits - 1);
    const double rounded = std::ldexp(std::nearbyint(std::ldexp(v, -exponent)), exponent);
    return std::abs(rounded) > most ? std::copysign(std::numeric_limits<double>::infinity(), v) : rounded;
}

/// Half precision goes by way of fp32, as in the framework.
inline double roundTo(Dtype dtype, double v) {
    switch (dtype) {
    case FS_CHAIN_F32: return double(float(v));
    case FS_CHAIN_F16: return roundToBits(double(float(v)), 11, -14, 65504);
    case FS_CHAIN_BF16: return roundToBits(double(float(v)), 8, -126, 0x1.fep127);
    case FS_CHAIN_BOOL: return v != 0;
    case FS_CHAIN_F64:
    case FS_CHAIN_I64:
    case FS_CHAIN_I32: break;
    }
    return v;
}

/// Whether the framework rounds the constant to the element type, instead of taking it in fp32.
inline bool roundsConstant(Op op, size_t operand) {
    switch (op) {
    case Op::add:
    case Op::sub:
    case Op::mul: return false;
    case Op::div: return operand == 0;
    default: return true;
    }
}

} // namespace fusescope::kernels::chain
