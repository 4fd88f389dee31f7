// SPDX-License-Identifier: Apache-2.0
#include "core/cost/device_json.h"

#include <simdjson.h>

#include <cmath>

namespace fusescope {
namespace {

using Object = simdjson::dom::object;

// A figure of the device: finite and not negative, else as if absent.
double number(const Object& object, std::string_view key, double otherwise = 0) {
    double value = 0;
    if (object[key].get_double().get(value) != simdjson::SUCCESS || !std::isfinite(value) || value < 0)
        return otherwise;
    return value;
}

} // namespace

Result<DeviceFile> parseDeviceJson(std::string_view json, std::string_view where) {
    const std::string place(where);
    constexpr const char* kExpected = "a device description (JSON with name, bandwidth_Bps and bf16_tensor or fp32)";
    simdjson::dom::parser parser;
    simdjson::dom::element root;
    if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS)
        return Error{ErrorCode::WrongFormat, kExpected, "text that is not JSON", place};
    Object object;
    if (root.get_object().get(object) != simdjson::SUCCESS)
        return Error{ErrorCode::WrongFormat, kExpected, "JSON that is not an object", place};
    Object inner;
    if (object["device"].get_object().get(inner) == simdjson::SUCCESS) object = inner; // a whole analysis
    Object peaks = object;
    if (object["peak_flops"].get_object().get(inner) == simdjson::SUCCESS) peaks = inner;

    DeviceFile file;
    DeviceSpec& spec = file.spec;
    std::string_view text;
    if (object["name"].get_string().get(text) == simdjson::SUCCESS) spec.name = text;
    spec.source = DeviceSource::Preset;
    if (object["source"].get_string().get(text) == simdjson::SUCCESS && text == "calibrated")
        spec.source = DeviceSource::Calibrated;
    spec.bandwidth_Bps = number(object, "bandwidth_Bps");
    spec.copy_bandwidth_Bps = number(object, "copy_bandwidth_Bps");
    spec.bf16_tensor = number(peaks, "bf16_tensor");
    spec.fp16_tensor = number(peaks, "fp16_tensor", spec.bf16_tensor);
    spec.tf32_tensor = number(peaks, "tf32_tensor");
    spec.fp8_tensor = number(peaks, "fp8_tensor");
    spec.fp32 = number(peaks, "fp32");
    spec.fp64 = number(peaks, "fp64");
    spec.matmul_bf16 = number(object, "matmul_bf16");
    spec.launch_us = number(object, "launch_us", spec.launch_us);
    spec.sms = static_cast<int>(std::min(number(object, "sms"), 1e6));
    spec.l2_bytes = number(object, "l2_bytes");
    if (spec.name.empty() || spec.bandwidth_Bps <= 0 || (spec.bf16_tensor <= 0 && spec.fp32 <= 0))
        return Error{ErrorCode::WrongFormat, kExpected, "an object without these figures", place};

    simdjson::dom::array aliases;
    if (object["aliases"].get_array().get(aliases) == simdjson::SUCCESS)
        for (const simdjson::dom::element alias : aliases)
            if (alias.get_string().get(text) == simdjson::SUCCESS) file.aliases.emplace_back(text);
    return file;
}

} // namespace fusescope
