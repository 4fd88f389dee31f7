// SPDX-License-Identifier: Apache-2.0
#include "core/cost/device.h"
#include "core/cost/device_json.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fusescope {
namespace {

std::string presetFor(std::string_view name) {
    const Result<DeviceSpec> device = deviceByName(name);
    return device.ok() ? device->name : "-";
}

TEST(DevicePresets, EveryFileIsAPreset) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(test::resourcePath("devices"))) {
        ++files;
        const std::string json = test::readFile(entry.path());
        EXPECT_TRUE(parseDeviceJson(json, entry.path().string()).ok()) << entry.path();
        EXPECT_NE(json.find("\"sources\""), std::string::npos) << entry.path(); // where the figures come from
    }
    EXPECT_EQ(devicePresets().size(), files);
    for (const DeviceSpec& spec : devicePresets()) {
        EXPECT_GT(spec.bandwidth_Bps, 2e11) << spec.name;
        EXPECT_LT(spec.bandwidth_Bps, 2e13) << spec.name;
        EXPECT_GT(spec.bf16_tensor, spec.fp32) << spec.name;
        EXPECT_GT(spec.sms, 0) << spec.name;
        EXPECT_LE(spec.copy_bandwidth_Bps, spec.bandwidth_Bps) << spec.name;
        EXPECT_LE(spec.matmul_bf16, spec.bf16_tensor) << spec.name;
        EXPECT_EQ(presetFor(spec.name), spec.name);
    }
}

TEST(DevicePresets, RidgeOfTheArticle) { // 989 TFLOP/s over 3 TB/s: about 330
    const Result<DeviceSpec> h100 = deviceByName("H100");
    ASSERT_TRUE(h100.ok());
    EXPECT_NEAR(h100->ridge(), 330, 0.5);
    EXPECT_NEAR(deviceByName("h200")->ridge(), 206, 0.5);
}

TEST(DevicePresets, NamesOfTraces) {
    EXPECT_EQ(presetFor("NVIDIA H100 80GB HBM3"), "H100");
    EXPECT_EQ(presetFor("NVIDIA H100 PCIe"), "H100 PCIe");
    EXPECT_EQ(presetFor("NVIDIA H100 NVL"), "H100 NVL");
    EXPECT_EQ(presetFor("NVIDIA H200"), "H200");
    EXPECT_EQ(presetFor("NVIDIA H200 NVL"), "H200");
    EXPECT_EQ(presetFor("NVIDIA A100-SXM4-80GB"), "A100 80GB");
    EXPECT_EQ(presetFor("NVIDIA A100-SXM4-40GB"), "A100 40GB");
    EXPECT_EQ(presetFor("NVIDIA A100 80GB PCIe"), "A100 80GB PCIe");
    EXPECT_EQ(presetFor("NVIDIA A800-SXM4-80GB"), "A800");
    EXPECT_EQ(presetFor("NVIDIA GeForce RTX 4090"), "RTX 4090");
    EXPECT_EQ(presetFor("NVIDIA L40S"), "L40S");
    EXPECT_EQ(presetFor("AMD Instinct MI300X OAM"), "MI300X");
    EXPECT_EQ(presetFor("NVIDIA L40"), "-"); // neither L4 nor L40S
    EXPECT_EQ(presetFor("NVIDIA H100 80GB HBM3 MIG 1g.10gb"), "-");
    EXPECT_EQ(presetFor(""), "-");
}

TEST(DevicePresets, PracticalBandwidth) {
    EXPECT_DOUBLE_EQ(deviceByName("H200")->practicalBandwidth(), 4.27e12); // measured
    EXPECT_DOUBLE_EQ(deviceByName("H100")->practicalBandwidth(), 0.88 * 3.0e12);
}

TEST(DeviceSpec, PeakByType) {
    const DeviceSpec h200 = *deviceByName("H200");
    EXPECT_DOUBLE_EQ(h200.peak(DType::BFloat16, true), 989e12);
    EXPECT_DOUBLE_EQ(h200.peak(DType::Float32, true), 494e12); // TF32
    EXPECT_DOUBLE_EQ(h200.peak(DType::Float32, false), 67e12);
    EXPECT_DOUBLE_EQ(h200.peak(DType::BFloat16, false), 67e12);
    EXPECT_DOUBLE_EQ(h200.peak(DType::Float8E4M3FN, true), 1979e12);
    EXPECT_DOUBLE_EQ(h200.peak(DType::Float64, false), 34e12);
}

TEST(DeviceFile, UsersOwn) {
    const test::TempDir dir;
    test::writeFile(
        dir.path() / "mine.json",
        R"({"device": {"name": "Mine", "source": "calibrated", "bandwidth_Bps": 1e12, "peak_flops": {"bf16_tensor": 2e14, "fp32": 5e13}}})");
    const Result<DeviceSpec> mine = deviceByName(dir.file("mine.json"));
    ASSERT_TRUE(mine.ok());
    EXPECT_EQ(mine->name, "Mine");
    EXPECT_EQ(mine->source, DeviceSource::Calibrated);
    EXPECT_DOUBLE_EQ(mine->ridge(), 200);

    test::writeFile(dir.path() / "bad.json", R"({"name": "Bad", "bandwidth_Bps": -1})");
    test::writeFile(dir.path() / "text.json", "not json");
    test::writeFile(dir.path() / "list.json", "[1]");
    for (const char* name : {"bad.json", "text.json", "list.json"}) {
        const Result<DeviceSpec> spec = deviceByName(dir.file(name));
        ASSERT_FALSE(spec.ok()) << name;
        EXPECT_EQ(spec.error().code, ErrorCode::WrongFormat) << name;
    }
    EXPECT_EQ(deviceByName(dir.file("absent.json")).error().code, ErrorCode::NotFound);
    EXPECT_EQ(deviceByName("Voodoo 2").error().code, ErrorCode::NotFound);
}

TEST(DeviceFile, FiguresThatNoGpuHas) {
    const test::TempDir dir;
    const std::pair<const char*, const char*> cases[] = {
        {R"("bandwidth_Bps":1e-300,"bf16_tensor":1e15)", "bandwidth_Bps between 1e+09 and 1e+15, found 1e-300"},
        {R"("bandwidth_Bps":1e308,"bf16_tensor":1e15)", "bandwidth_Bps between 1e+09 and 1e+15, found 1e+308"},
        {R"("bandwidth_Bps":4800,"bf16_tensor":1e15)", "bandwidth_Bps between 1e+09 and 1e+15, found 4800"}, // GB/s
        {R"("bandwidth_Bps":1e12,"bf16_tensor":989)", "bf16_tensor between 1e+09 and 1e+19, found 989"},     // TFLOP/s
        {R"("bandwidth_Bps":1e12,"bf16_tensor":1e15,"launch_us":1e308)", "launch_us between 0.001 and 100000"},
        {R"("bandwidth_Bps":1e12,"bf16_tensor":1e15,"copy_bandwidth_Bps":1e300)", "copy_bandwidth_Bps between"},
        {R"("bandwidth_Bps":-1e12,"bf16_tensor":1e15)", "bandwidth_Bps between"},
    };
    for (const auto& [figures, message] : cases) {
        test::writeFile(dir.path() / "gpu.json", std::string(R"({"name":"X",)") + figures + "}");
        const Result<DeviceSpec> spec = deviceByName(dir.file("gpu.json"));
        ASSERT_FALSE(spec.ok()) << figures;
        EXPECT_NE(spec.error().message().find(message), std::string::npos) << spec.error().message();
    }
    EXPECT_EQ(deviceByName("/dev/zero").error().found, "a device or pipe, not a file");
    EXPECT_EQ(deviceByName(dir.path().string()).error().found, "a folder");
}

TEST(DeviceOfTrace, ByTheGpuTheKernelsRanOn) {
    TraceStore trace;
    EXPECT_EQ(deviceOfTrace(trace).source, DeviceSource::Assumed);
    trace.devices.push_back({0, "NVIDIA A100-SXM4-80GB", 8, 0, 108, 0});
    trace.devices.push_back({1, "NVIDIA H200", 9, 0, 132, 0});
    trace.kernels.device = {1, 1, 0};
    EXPECT_EQ(deviceOfTrace(trace).name, "H200");
    EXPECT_EQ(deviceOfTrace(trace).source, DeviceSource::Trace);
    trace.devices = {{0, "Some Future GPU", 12, 0, 200, 0}};
    EXPECT_EQ(deviceOfTrace(trace).source, DeviceSource::Assumed);
    EXPECT_EQ(deviceOfTrace(trace).name, "H100");
}

} // namespace
} // namespace fusescope
