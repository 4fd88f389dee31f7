// SPDX-License-Identifier: Apache-2.0
#include "core/report/fuse_report.h"

#include "core/base/format.h"
#include "core/base/json_writer.h"
#include "core/base/printable.h"
#include "core/cost/calibration.h"

#include <fmt/format.h>

namespace fusescope {
namespace {

std::string gpuName(const RunnerHello& hello) { return hello.gpus.empty() ? "CPU" : hello.gpus.front().name; }

DeviceSpec specOf(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration) {
    if (calibration) {
        Calibration measured{gpuName(hello), calibration->copy_Bps, calibration->bf16_matmul_flops, 0, 0};
        if (!hello.gpus.empty()) {
            measured.multiprocessors = hello.gpus.front().multiprocessors;
            measured.l2_bytes = hello.gpus.front().l2_bytes;
        }
        return calibratedDevice(measured);
    }
    DeviceSpec spec;
    if (!hello.gpus.empty())
        if (const DeviceSpec* preset = presetByName(gpuName(hello))) spec = *preset;
    spec.name = gpuName(hello);
    return spec;
}

} // namespace

std::vector<CalibrationLine> calibrationLines(const CalibrateResult& measured) {
    const auto spread = [](double share) { return share > 0 ? fmt::format(" ±{:.1f}%", 50 * share) : std::string(); };
    return {{"copy", formatBandwidth(measured.copy_Bps) + spread(measured.copy_spread) + " (read and written)"},
            {"bf16 matrix product", measured.bf16_matmul_flops > 0
                                        ? formatFlopRate(measured.bf16_matmul_flops) + spread(measured.matmul_spread)
                                        : std::string("not on this device")},
            {"empty launch", measured.launch_us > 0
                                 ? formatDuration(measured.launch_us * 1e3) + spread(measured.launch_spread)
                                 : std::string("none on a CPU")},
            {"took", formatDuration(measured.seconds * 1e9)}};
}

std::string deviceReportJson(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration) {
    JsonWriter json(1);
    json.beginObject().member("schema", "fusescope.device/1");
    writeDevice(json, specOf(hello, calibration));
    json.member("on_gpu", !hello.gpus.empty());
    if (!hello.gpus.empty()) json.member("uuid", hello.gpus.front().uuid);
    if (calibration) {
        json.member("sources", "copy_bandwidth_Bps and matmul_bf16 measured by fusescope-runner " + hello.build +
                                   ", torch " + hello.torch + "; peaks and launch_us as the preset of that GPU has " +
                                   "them, or estimated from these.");
        json.key("calibration").beginObject().member("device", calibration->device);
        json.member("on_gpu", calibration->on_gpu).member("copy_Bps", calibration->copy_Bps);
        json.member("bf16_matmul_flops", calibration->bf16_matmul_flops);
        json.member("empty_launch_us", calibration->launch_us).member("copy_spread", calibration->copy_spread);
        json.member("matmul_spread", calibration->matmul_spread).member("launch_spread", calibration->launch_spread);
        json.member("seconds", calibration->seconds).endObject();
    }
    json.key("runner").beginObject().member("build", hello.build).member("protocol", hello.protocol);
    json.member("torch", hello.torch).member("cuda", hello.cuda).member("driver", hello.driver);
    json.member("kernels", hello.kernels).member("kernels_problem", hello.kernels_problem).key("gpus").beginArray();
    for (const RunnerGpu& gpu : hello.gpus) {
        json.beginObject().member("name", gpu.name).member("uuid", gpu.uuid);
        json.member("compute_capability", gpu.compute_capability).member("multiprocessors", gpu.multiprocessors);
        json.member("memory_bytes", gpu.memory_bytes).member("free_bytes", gpu.free_bytes);
        json.member("l2_bytes", gpu.l2_bytes).endObject();
    }
    json.endArray().endObject().endObject();
    return std::move(json).take() + "\n";
}

std::string deviceReportText(const RunnerHello& hello, const std::optional<CalibrateResult>& calibration) {
    std::string text;
    const auto line = [&](std::string_view what, const std::string& value) {
        text += fmt::format("{:<22}{}\n", what, value);
    };
    if (hello.gpus.empty()) line("device", "CPU (no GPU was found: measurements run on the CPU)");
    for (const RunnerGpu& gpu : hello.gpus) {
        line(&gpu == &hello.gpus.front() ? "device" : "not used", gpu.name);
        line("  memory", formatBytes(gpu.memory_bytes) + ", " + formatBytes(gpu.free_bytes) + " free");
        line("  compute capability",
             fmt::format("{}.{}, {} multiprocessors, L2 {}", gpu.compute_capability / 10, gpu.compute_capability % 10,
                         gpu.multiprocessors, formatBytes(gpu.l2_bytes)));
        line("  uuid", gpu.uuid);
    }
    line("runner", "FuseScope " + hello.build + ", torch " + hello.torch +
                       (hello.cuda.empty() ? "" : ", CUDA " + hello.cuda) +
                       (hello.driver.empty() ? "" : ", driver " + hello.driver));
    line("fused kernels", hello.kernels ? "loaded" : "not loaded: " + hello.kernels_problem);
    if (!calibration) return printableText(text);
    line("measured on", calibration->on_gpu ? calibration->device : "CPU");
    for (const CalibrationLine& figure : calibrationLines(*calibration)) line("  " + figure.what, figure.value);
    return printableText(text);
}

} // namespace fusescope
