// SPDX-License-Identifier: Apache-2.0
#include "core/cost/calibration.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace fusescope {
namespace {

std::string jsonOf(const DeviceSpec& spec) {
    JsonWriter json;
    json.beginObject();
    writeDevice(json, spec);
    json.endObject();
    return std::move(json).take();
}

TraceStore traceOf(const char* gpu) {
    TraceStore trace;
    trace.devices.push_back({0, gpu, 9, 0, 132, 0});
    trace.kernels.device = {0};
    return trace;
}

TEST(Calibration, TakesThePlaceOfThePresetsFigures) {
    const DeviceSpec spec = calibratedDevice({"NVIDIA H200", 4.1e12, 7.1e14, 130, 6e7});
    EXPECT_EQ(spec.name, "NVIDIA H200");
    EXPECT_EQ(spec.source, DeviceSource::Calibrated);
    EXPECT_DOUBLE_EQ(spec.practicalBandwidth(), 4.1e12);
    EXPECT_DOUBLE_EQ(spec.matmul_bf16, 7.1e14);
    EXPECT_DOUBLE_EQ(spec.bandwidth_Bps, 4.8e12); // of the data sheet
    EXPECT_DOUBLE_EQ(spec.bf16_tensor, 989e12);
    EXPECT_EQ(spec.sms, 130);
    EXPECT_TRUE(sameDevice(spec, *deviceByName("H200")));
}

TEST(Calibration, AGpuWithoutAPresetGetsEstimatedPeaks) {
    const DeviceSpec spec = calibratedDevice({"Some Future GPU", 8.8e12, 1.6e15, 200, 0});
    EXPECT_DOUBLE_EQ(spec.bandwidth_Bps, 1e13);
    EXPECT_DOUBLE_EQ(spec.bf16_tensor, 2e15);
    // A GPU that copies faster than its preset's peak is a variant of it.
    EXPECT_DOUBLE_EQ(calibratedDevice({"NVIDIA H200", 5e12, 0, 0, 0}).bandwidth_Bps, 5e12);
}

TEST(Calibration, IsADeviceFile) {
    const test::TempDir dir;
    test::writeFile(dir.path() / "mine.json", jsonOf(calibratedDevice({"NVIDIA H200", 4.1e12, 7.1e14, 132, 5e7})));
    const Result<DeviceSpec> read = deviceByName(dir.file("mine.json"));
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(read->source, DeviceSource::Calibrated);
    EXPECT_EQ(read->origin, dir.file("mine.json"));
    EXPECT_DOUBLE_EQ(read->copy_bandwidth_Bps, 4.1e12);
    EXPECT_DOUBLE_EQ(read->launch_us, deviceByName("H200")->launch_us);
    EXPECT_EQ(read->fused.size(), deviceByName("H200")->fused.size()); // which a calibration does not measure
}

TEST(Calibration, IsUsedForATraceOfThatGpu) {
    namespace fs = std::filesystem;
    const test::TempDir dir;
    const auto put = [&](const char* file, const char* gpu, double copy, int age_s) {
        test::writeFile(dir.path() / file, jsonOf(calibratedDevice({gpu, copy, 7e14, 0, 0})));
        fs::last_write_time(dir.path() / file, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
    };
    const std::string folder = dir.path().string();
    EXPECT_EQ(deviceOfTrace(traceOf("NVIDIA H200"), folder).source, DeviceSource::Trace); // none yet
    put("a.json", "NVIDIA H200", 4.1e12, 100);
    put("b.json", "NVIDIA H200", 4.2e12, 10);
    put("c.json", "NVIDIA H200", 4.0e12, 1000);
    put("d.json", "NVIDIA H200 NVL", 3.9e12, 0);
    put("e.json", "Some Future GPU", 8.8e12, 0);
    test::writeFile(dir.path() / "f.json", "not json");
    test::writeFile(dir.path() / "g.json", R"({"name":"NVIDIA H200","bandwidth_Bps":1e12,"bf16_tensor":1e15})"); // own
    const DeviceSpec newest = deviceOfTrace(traceOf("NVIDIA H200"), folder);
    EXPECT_EQ(newest.source, DeviceSource::Calibrated);
    EXPECT_DOUBLE_EQ(newest.copy_bandwidth_Bps, 4.2e12);
    EXPECT_EQ(newest.origin, dir.file("b.json"));
    EXPECT_DOUBLE_EQ(deviceOfTrace(traceOf("Some Future GPU"), folder).copy_bandwidth_Bps, 8.8e12);
    EXPECT_EQ(deviceOfTrace(traceOf("NVIDIA H100 PCIe"), folder).source, DeviceSource::Trace);
    EXPECT_EQ(deviceOfTrace(traceOf("NVIDIA H200"), dir.file("nowhere")).source, DeviceSource::Trace);
}

TEST(Calibration, FileNamesStayInTheFolder) {
    EXPECT_EQ(calibrationFile("GPU-5f6c", "580.159.04"), "GPU-5f6c-580.159.04.json");
    EXPECT_EQ(calibrationFile("../../etc/passwd", "a/b"), "_._.._etc_passwd-a_b.json");
    EXPECT_EQ(calibrationFile("", ""), "unknown-unknown.json");
    EXPECT_LT(calibrationFile(std::string(10'000, 'x'), std::string(10'000, 'y')).size(), 200u);
}

TEST(Calibration, FolderOfTheUser) {
    const char* before = std::getenv("XDG_CONFIG_HOME");
    const std::string kept = before == nullptr ? "" : before;
    setenv("XDG_CONFIG_HOME", "/tmp/config", 1);
    EXPECT_EQ(calibrationFolder(), "/tmp/config/fusescope/devices");
    setenv("XDG_CONFIG_HOME", "relative", 1);
    setenv("HOME", "/home/someone", 1);
    EXPECT_EQ(calibrationFolder(), "/home/someone/.config/fusescope/devices");
    before == nullptr ? unsetenv("XDG_CONFIG_HOME") : setenv("XDG_CONFIG_HOME", kept.c_str(), 1);
}

} // namespace
} // namespace fusescope
