// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/base/tensor.h"

#include <c10/core/ScalarType.h>

namespace fusescope::runner {

// ScalarType::Undefined for Unknown.
inline c10::ScalarType torchType(DType type) {
    using c10::ScalarType;
    switch (type) {
    case DType::Unknown: return ScalarType::Undefined;
    case DType::Bool: return ScalarType::Bool;
    case DType::UInt8: return ScalarType::Byte;
    case DType::Int8: return ScalarType::Char;
    case DType::UInt16: return ScalarType::UInt16;
    case DType::Int16: return ScalarType::Short;
    case DType::UInt32: return ScalarType::UInt32;
    case DType::Int32: return ScalarType::Int;
    case DType::UInt64: return ScalarType::UInt64;
    case DType::Int64: return ScalarType::Long;
    case DType::Float16: return ScalarType::Half;
    case DType::BFloat16: return ScalarType::BFloat16;
    case DType::Float32: return ScalarType::Float;
    case DType::Float64: return ScalarType::Double;
    case DType::Complex32: return ScalarType::ComplexHalf;
    case DType::Complex64: return ScalarType::ComplexFloat;
    case DType::Complex128: return ScalarType::ComplexDouble;
    case DType::Float8E4M3FN: return ScalarType::Float8_e4m3fn;
    case DType::Float8E5M2: return ScalarType::Float8_e5m2;
    case DType::Float8E4M3FNUZ: return ScalarType::Float8_e4m3fnuz;
    case DType::Float8E5M2FNUZ: return ScalarType::Float8_e5m2fnuz;
    }
    return ScalarType::Undefined;
}

} // namespace fusescope::runner
