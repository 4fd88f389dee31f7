// SPDX-License-Identifier: Apache-2.0
// Every number is worked out by hand, beside it.
#include "core/measured/roof.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

MeasuredResult result() {
    MeasuredResult m;
    m.result.device = "NVIDIA H200";
    m.result.on_gpu = true;
    m.result.copy_Bps = 4e12;
    for (const char* direction : {"forward", "backward"}) {
        Comparison c;
        c.direction = direction;
        c.has_fused = true;
        c.fused.us.median = 25;
        m.result.directions.push_back(c);
    }
    m.fused_bytes = 80e6;
    m.fused_backward_bytes = 60e6;
    return m;
}

TEST(Roof, IsTheCopyOrTheMatrixProduct) {
    MeasuredResult one = result();
    const Comparison forward = one.result.directions[0];
    EXPECT_DOUBLE_EQ(roofShare(one, forward, 0).Bps, 3.2e12); // 80 MB in 25 µs
    EXPECT_DOUBLE_EQ(roofShare(one, forward, 0).share, 0.8);
    EXPECT_DOUBLE_EQ(roofShare(one, one.result.directions[1], 0).share, 0.6);
    one.fused_flops = 1e10;
    EXPECT_EQ(roofShare(one, forward, 0).share, 0); // half a roof says nothing
    EXPECT_FALSE(roofShare(one, forward, 6e14).by_flops);
    EXPECT_TRUE(roofShare(one, forward, 4.5e14).by_flops);
    EXPECT_NEAR(roofShare(one, forward, 4.5e14).share, 1e10 / 4.5e14 / 25e-6, 1e-12);
}

TEST(Roof, TheMatrixProductIsOfTheGpuThatRan) {
    Analysis a;
    a.device = *deviceByName("NVIDIA H200");
    a.device.source = DeviceSource::Calibrated;
    a.device.matmul_bf16 = 7.4e14; // calibrated
    FuseResult ran = result().result;
    EXPECT_EQ(matmulRate(a, ran), 7.4e14);
    ran.device = "NVIDIA A100-SXM4-80GB";
    EXPECT_EQ(matmulRate(a, ran), deviceByName("NVIDIA A100-SXM4-80GB")->matmul_bf16);
    ran.on_gpu = false;
    EXPECT_EQ(matmulRate(a, ran), 0);
}

} // namespace
} // namespace fusescope
