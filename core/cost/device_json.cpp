// SPDX-License-Identifier: Apache-2.0
#include "core/cost/device_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>

namespace fusescope {
namespace {

using Object = simdjson::dom::object;

// What a figure may be: three decades below the smallest GPU ever sold, two above what is announced. Beyond that it is
// a mistake of units (GB/s for B/s), and every prediction would be nonsense with a straight face.
struct Range {
    double least, most;
};
constexpr Range kBandwidth{1e9, 1e15}, kFlops{1e9, 1e19}, kLaunch{1e-3, 1e5}, kMultiprocessors{1, 1e6},
    kCache{1e3, 1e12};

class Figures {
public:
    // 0 where the file has none (or says 0: not known).
    double read(const Object& object, std::string_view key, Range range, double otherwise = 0) {
        double value = 0;
        if (object[key].get_double().get(value) != simdjson::SUCCESS || value == 0) return otherwise;
        if (value >= range.least && value <= range.most) return value;
        if (wrong_.empty())
            wrong_ = fmt::format("{} between {:g} and {:g}, found {:g}", key, range.least, range.most, value);
        return otherwise;
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    std::string wrong_;
};

// "fused_kernels": {"patterns": {"rms_norm": {"forward": [[bytes, width, fused us, PyTorch's own us or null, eager us],
// ...]}}}. False: something in it is not that.
bool readCurves(const Object& object, std::vector<FusedCurve>& curves) {
    Object patterns;
    if (object["fused_kernels"]["patterns"].get_object().get(patterns) != simdjson::SUCCESS) return true; // none
    std::size_t points = 0;
    for (const auto [pattern, directions] : patterns) {
        Object both;
        if (directions.get_object().get(both) != simdjson::SUCCESS) return false;
        for (const auto [direction, rows] : both) {
            FusedCurve curve;
            curve.pattern = pattern;
            curve.backward = direction == "backward";
            simdjson::dom::array list;
            if ((!curve.backward && direction != "forward") || rows.get_array().get(list) != simdjson::SUCCESS)
                return false;
            for (const simdjson::dom::element row : list) {
                simdjson::dom::array figures;
                if (++points > kMaxFusedPoints || row.get_array().get(figures) != simdjson::SUCCESS ||
                    figures.size() != 5)
                    return false;
                std::array<double, 5> values{};
                std::size_t i = 0;
                for (const simdjson::dom::element figure : figures) {
                    const bool absent = i == 3 && figure.is_null();
                    if (!absent && (figure.get_double().get(values[i]) != simdjson::SUCCESS || !(values[i] > 0) ||
                                    values[i] > 1e15))
                        return false;
                    ++i;
                }
                curve.points.push_back({values[0], values[1], values[2], values[3], values[4]});
            }
            std::sort(curve.points.begin(), curve.points.end(), [](const FusedPoint& a, const FusedPoint& b) {
                return a.width != b.width ? a.width < b.width : a.bytes < b.bytes;
            });
            curves.push_back(std::move(curve));
        }
    }
    return true;
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
    Figures figures;
    spec.bandwidth_Bps = figures.read(object, "bandwidth_Bps", kBandwidth);
    spec.copy_bandwidth_Bps = figures.read(object, "copy_bandwidth_Bps", kBandwidth);
    spec.bf16_tensor = figures.read(peaks, "bf16_tensor", kFlops);
    spec.fp16_tensor = figures.read(peaks, "fp16_tensor", kFlops, spec.bf16_tensor);
    spec.tf32_tensor = figures.read(peaks, "tf32_tensor", kFlops);
    spec.fp8_tensor = figures.read(peaks, "fp8_tensor", kFlops);
    spec.fp32 = figures.read(peaks, "fp32", kFlops);
    spec.fp64 = figures.read(peaks, "fp64", kFlops);
    spec.matmul_bf16 = figures.read(object, "matmul_bf16", kFlops);
    spec.launch_us = figures.read(object, "launch_us", kLaunch, spec.launch_us);
    spec.sms = static_cast<int>(figures.read(object, "sms", kMultiprocessors));
    spec.l2_bytes = figures.read(object, "l2_bytes", kCache);
    if (!readCurves(object, spec.fused))
        return Error{ErrorCode::WrongFormat,
                     "fused_kernels as tests/gpu/sweep.py writes it (points of five positive numbers)",
                     "something else in it", place};
    if (const std::string& wrong = figures.wrong(); !wrong.empty()) {
        const std::size_t comma = wrong.find(", found ");
        return Error{ErrorCode::WrongFormat, wrong.substr(0, comma), wrong.substr(comma + 8), place};
    }
    if (spec.name.empty() || spec.bandwidth_Bps <= 0 || (spec.bf16_tensor <= 0 && spec.fp32 <= 0))
        return Error{ErrorCode::WrongFormat, kExpected, "an object without these figures", place};

    simdjson::dom::array aliases;
    if (object["aliases"].get_array().get(aliases) == simdjson::SUCCESS)
        for (const simdjson::dom::element alias : aliases)
            if (alias.get_string().get(text) == simdjson::SUCCESS) file.aliases.emplace_back(text);
    return file;
}

} // namespace fusescope
