// SPDX-License-Identifier: Apache-2.0
// What the GPU can do. Sources of the presets' numbers stand in resources/devices/*.json.
#pragma once

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/cost/fused_curve.h"
#include "core/trace/trace_store.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class DeviceSource : std::uint8_t {
    Trace,      // name read in the trace, figures from the preset of that name
    Preset,     // chosen by name
    Calibrated, // measured on this machine
    Assumed,    // nothing known: a stand-in, and every view says so
};
[[nodiscard]] std::string_view nameOf(DeviceSource source) noexcept; // "trace" ...

struct DeviceSpec {
    std::string name;
    DeviceSource source = DeviceSource::Assumed;
    double bandwidth_Bps = 0;      // HBM peak of the data sheet
    double copy_bandwidth_Bps = 0; // reached by a plain copy in practice; 0 = unknown (then 0.88 x peak is assumed)
    double bf16_tensor = 0, fp16_tensor = 0, tf32_tensor = 0, fp8_tensor = 0, fp32 = 0, fp64 = 0; // dense FLOP/s
    double matmul_bf16 = 0; // reached by a large bf16 matmul in practice; 0 = unknown
    double launch_us = 4.0; // CPU cost of launching one kernel from eager PyTorch
    int sms = 0;
    double l2_bytes = 0;
    std::string origin;            // Calibrated: the file it was read from; else ""
    std::vector<FusedCurve> fused; // this project's kernels, as measured on this GPU; empty where they were not

    // Ridge point for bf16 tensor cores, FLOP/byte. H100 SXM with 3.0 TB/s: 989e12 / 3.0e12 = 330.
    [[nodiscard]] double ridge() const noexcept { return bandwidth_Bps > 0 ? bf16_tensor / bandwidth_Bps : 0; }
    [[nodiscard]] double practicalBandwidth() const noexcept {
        return copy_bandwidth_Bps > 0 ? copy_bandwidth_Bps : 0.88 * bandwidth_Bps;
    }
    // Peak for arithmetic on this element type, on tensor cores or not.
    [[nodiscard]] double peak(DType type, bool tensor_cores) const noexcept;
};

[[nodiscard]] const std::vector<DeviceSpec>& devicePresets();
// By name or alias ("H100", "NVIDIA H200", "NVIDIA H100 80GB HBM3"), case-insensitive; null if none fits. For names
// that come from a file or a runner: these are no paths.
[[nodiscard]] const DeviceSpec* presetByName(std::string_view name);
// What a person asked for: such a name, or a JSON file's path.
[[nodiscard]] Result<DeviceSpec> deviceByName(std::string_view name_or_path);
// Whether both names mean one GPU ("NVIDIA H200 (calibrated)" and "H200").
[[nodiscard]] bool sameDevice(const DeviceSpec& a, const DeviceSpec& b);
// From the trace's deviceProperties; Assumed (a generic H100) when it has none that we know. calibrations: a folder of
// calibrated devices; the newest of that very name comes before any preset ("" = none is looked for).
[[nodiscard]] DeviceSpec deviceOfTrace(const TraceStore& trace, const std::string& calibrations = "");

} // namespace fusescope
