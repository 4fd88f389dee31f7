// SPDX-License-Identifier: Apache-2.0
// The name of the GPU that ran comes from a runner or a session file: it is a name, whatever it looks like.
#include "core/measured/measured.h"
#include "core/measured/roof.h"
#include "tests/support/files.h"

#include <gtest/gtest.h>

#include <string>

namespace fusescope {
namespace {

TEST(DeviceName, IsNoPathToADescription) {
    const test::TempDir folder;
    const std::string file = folder.file("gpu.json");
    test::writeFile(file, R"({"name": "NVIDIA H200", "bandwidth_Bps": 4.8e12, "bf16_tensor": 9.9e14,
                              "matmul_bf16": 7e14})");
    ASSERT_TRUE(deviceByName(file).ok()) << "what a person names may be one";
    Analysis a;
    a.device.name = "NVIDIA H200";
    a.device.source = DeviceSource::Trace;
    FuseResult ran;
    ran.on_gpu = true;
    Comparison forward;
    forward.direction = "forward";
    forward.has_fused = true;
    forward.baseline.us = {20, 20, 20, 20};
    forward.fused.us = {10, 10, 10, 20};
    ran.directions = {forward};
    ran.device = "NVIDIA H200";
    EXPECT_EQ(useOf(a, ran), MeasuredUse::Saving);
    ran.device = file;
    EXPECT_EQ(useOf(a, ran), MeasuredUse::OtherDevice);
    EXPECT_EQ(matmulRate(a, ran), 0);
}

} // namespace
} // namespace fusescope
