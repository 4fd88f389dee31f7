// SPDX-License-Identifier: Apache-2.0
#include "core/cost/fused_curve.h"

#include "core/cost/device.h"
#include "core/cost/device_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace fusescope {
namespace {

DeviceSpec deviceWithCurve() {
    DeviceSpec device;
    device.name = "toy";
    device.bandwidth_Bps = device.copy_bandwidth_Bps = 4e12;
    FusedCurve curve{"toy_norm", false, {}};
    curve.points = {{1e6, 128, 5, 0, 50},
                    {1e8, 128, 50, 0, 900}, // narrow rows
                    {1e6, 4096, 4, 8, 40},
                    {4e6, 4096, 8, 16, 60},
                    {1e8, 4096, 200, 300, 900}};
    device.fused = {curve};
    return device;
}

double us(double bytes, double width) { return fusedTime(deviceWithCurve(), "toy_norm", false, bytes, width).ns / 1e3; }

TEST(FusedCurve, PointsAndBetween) {
    EXPECT_NEAR(us(1e6, 4096), 4, 1e-9);
    EXPECT_NEAR(us(4e6, 4096), 8, 1e-9);
    EXPECT_NEAR(us(2e6, 4096), 4 * 1.4142135623731, 1e-6); // half way in logarithms from 4 to 8
    EXPECT_NEAR(us(1e3, 4096), 4, 1e-9);                   // a launch is a launch
    EXPECT_NEAR(us(3e8, 4096), 600, 1e-6);                 // in proportion to the bytes
}

TEST(FusedCurve, NearestWidth) {
    EXPECT_NEAR(us(1e6, 64), 5, 1e-9);
    EXPECT_NEAR(us(1e6, 700), 5, 1e-9); // 700 / 128 = 5.5, 4096 / 700 = 5.9
    EXPECT_NEAR(us(1e6, 800), 4, 1e-9); // 6.3 and 5.1
    EXPECT_NEAR(us(1e6, 1e5), 4, 1e-9);
}

TEST(FusedCurve, PyTorchsOwnKernel) {
    const DeviceSpec device = deviceWithCurve();
    EXPECT_NEAR(fusedTime(device, "toy_norm", false, 4e6, 4096).framework_ns, 16e3, 1e-6);
    EXPECT_EQ(fusedTime(device, "toy_norm", false, 4e6, 128).framework_ns, 0); // none for these
}

TEST(FusedCurve, NoneForOthers) {
    const DeviceSpec device = deviceWithCurve();
    EXPECT_EQ(fusedTime(device, "toy_norm", true, 1e6, 4096).ns, 0);
    EXPECT_EQ(fusedTime(device, "nothing", false, 1e6, 4096).ns, 0);
    for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
        EXPECT_EQ(fusedTime(device, "toy_norm", false, bad, 4096).ns, 0);
        EXPECT_EQ(fusedTime(device, "toy_norm", false, 1e6, bad).ns, 0);
    }
}

TEST(FusedCurve, BorrowedFromTheMeasuredGpu) {
    const DeviceSpec& h200 = *std::find_if(devicePresets().begin(), devicePresets().end(),
                                           [](const DeviceSpec& d) { return d.name == "H200"; });
    DeviceSpec half; // half the bandwidth, nothing measured
    half.name = "half an H200";
    half.bandwidth_Bps = half.copy_bandwidth_Bps = h200.copy_bandwidth_Bps / 2;
    const double bytes = 268435456, width = 4096; // rms_norm of 16384 x 4096, forward
    const FusedTime there = fusedTime(h200, "rms_norm", false, bytes, width);
    const FusedTime here = fusedTime(half, "rms_norm", false, bytes, width);
    EXPECT_FALSE(there.borrowed);
    EXPECT_EQ(there.measured_on, "H200");
    // Known from other runs on that GPU: 64.7 us, and about 4 us for the smallest.
    EXPECT_NEAR(there.ns, 64'700, 2'000);
    EXPECT_TRUE(here.borrowed);
    EXPECT_EQ(here.measured_on, "H200");
    EXPECT_NEAR(here.ns, 2 * there.ns - 4'000, 500);
}

Result<DeviceFile> parsed(const std::string& curves) {
    return parseDeviceJson(R"({"name":"toy","bandwidth_Bps":4e12,"bf16_tensor":1e15,"fused_kernels":)" + curves + "}",
                           "toy.json");
}

TEST(FusedCurve, ReadFromADeviceFile) {
    const auto file = parsed(R"({"measured":"here","patterns":{"rope":{"forward":[[2e6,128,5,null,9],[1e6,128,4,6,8]],)"
                             R"("backward":[[1e6,128,7,null,8]]}}})");
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(file->spec.fused.size(), 2U);
    const FusedCurve& curve = file->spec.fused[0];
    EXPECT_EQ(curve.pattern, "rope");
    EXPECT_FALSE(curve.backward);
    ASSERT_EQ(curve.points.size(), 2U);
    EXPECT_EQ(curve.points[0].bytes, 1e6); // sorted
    EXPECT_EQ(curve.points[0].framework_us, 6);
    EXPECT_EQ(curve.points[1].framework_us, 0);
    EXPECT_TRUE(file->spec.fused[1].backward);
    EXPECT_TRUE(parsed("{}").ok()); // none is fine
}

TEST(FusedCurve, RefusesWhatIsNoCurve) {
    for (const char* bad :
         {R"({"patterns":{"rope":{"sideways":[]}}})", R"({"patterns":{"rope":{"forward":[[1,2,3,4]]}}})",
          R"({"patterns":{"rope":{"forward":[[1,2,-3,4,5]]}}})",
          R"({"patterns":{"rope":{"forward":[[1,2,null,4,5]]}}})",
          R"({"patterns":{"rope":{"forward":[[1,2,"3",4,5]]}}})", R"({"patterns":{"rope":[]}})"}) {
        const auto file = parsed(bad);
        ASSERT_FALSE(file.ok()) << bad;
        EXPECT_NE(file.error().message().find("fused_kernels"), std::string::npos) << file.error().message();
    }
}

} // namespace
} // namespace fusescope
