// SPDX-License-Identifier: Apache-2.0
#include "core/cost/calibration.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace fusescope {
namespace {

constexpr double kCopyShare = 0.88, kMatmulShare = 0.8;

std::string variable(const char* name) {
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe): nobody sets it
    return value == nullptr ? "" : value;
}

} // namespace

DeviceSpec calibratedDevice(const Calibration& measured) {
    DeviceSpec spec;
    if (const DeviceSpec* preset = presetByName(measured.gpu)) spec = *preset;
    spec.name = measured.gpu;
    spec.source = DeviceSource::Calibrated;
    if (measured.copy_Bps > 0) {
        spec.copy_bandwidth_Bps = measured.copy_Bps;
        if (spec.bandwidth_Bps <= 0) spec.bandwidth_Bps = measured.copy_Bps / kCopyShare;
        spec.bandwidth_Bps = std::max(spec.bandwidth_Bps, measured.copy_Bps); // a variant with faster memory
    }
    if (measured.bf16_matmul_flops > 0) {
        spec.matmul_bf16 = measured.bf16_matmul_flops;
        if (spec.bf16_tensor <= 0) spec.bf16_tensor = measured.bf16_matmul_flops / kMatmulShare;
        spec.bf16_tensor = std::max(spec.bf16_tensor, measured.bf16_matmul_flops);
        if (spec.fp16_tensor <= 0) spec.fp16_tensor = spec.bf16_tensor;
    }
    if (measured.multiprocessors > 0) spec.sms = measured.multiprocessors;
    if (measured.l2_bytes > 0) spec.l2_bytes = measured.l2_bytes;
    return spec;
}

void writeDevice(JsonWriter& json, const DeviceSpec& spec) {
    json.member("name", spec.name).member("source", nameOf(spec.source));
    const auto figure = [&](const char* key, double value) {
        if (value > 0) json.member(key, value);
    };
    figure("bandwidth_Bps", spec.bandwidth_Bps);
    figure("copy_bandwidth_Bps", spec.copy_bandwidth_Bps);
    figure("bf16_tensor", spec.bf16_tensor);
    figure("fp16_tensor", spec.fp16_tensor);
    figure("tf32_tensor", spec.tf32_tensor);
    figure("fp8_tensor", spec.fp8_tensor);
    figure("fp32", spec.fp32);
    figure("fp64", spec.fp64);
    figure("matmul_bf16", spec.matmul_bf16);
    figure("launch_us", spec.launch_us);
    figure("sms", spec.sms);
    figure("l2_bytes", spec.l2_bytes);
}

std::string calibrationFolder() {
    std::string base = variable("XDG_CONFIG_HOME");
    if (base.empty() || base.front() != '/') { // the specification: a relative path does not count
        const std::string home = variable("HOME");
        if (home.empty()) return {};
        base = home + "/.config";
    }
    return base + "/fusescope/devices";
}

std::string calibrationFile(std::string_view uuid, std::string_view driver) {
    constexpr std::size_t kMost = 80;
    const auto clean = [](std::string_view text) {
        std::string out;
        for (const char c : text.substr(0, kMost))
            out += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' ? c : '_';
        return out.empty() ? std::string("unknown") : out;
    };
    std::string name = clean(uuid) + "-" + clean(driver) + ".json";
    if (name.front() == '.') name.front() = '_';
    return name;
}

} // namespace fusescope
