// SPDX-License-Identifier: Apache-2.0
#include "core/cost/device.h"

namespace fusescope {

std::string_view nameOf(DeviceSource source) noexcept {
    switch (source) {
    case DeviceSource::Trace: return "trace";
    case DeviceSource::Preset: return "preset";
    case DeviceSource::Calibrated: return "calibrated";
    case DeviceSource::Assumed: return "assumed";
    }
    return "assumed";
}

double DeviceSpec::peak(DType type, bool tensor_cores) const noexcept {
    if (type == DType::Float64) return fp64;
    if (!tensor_cores) return fp32;
    switch (type) {
    case DType::Float16: return fp16_tensor > 0 ? fp16_tensor : bf16_tensor;
    case DType::Float32: return tf32_tensor > 0 ? tf32_tensor : fp32;
    case DType::Float8E4M3FN:
    case DType::Float8E5M2:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2FNUZ:
    case DType::Int8: return fp8_tensor > 0 ? fp8_tensor : bf16_tensor;
    default: return bf16_tensor;
    }
}

} // namespace fusescope
