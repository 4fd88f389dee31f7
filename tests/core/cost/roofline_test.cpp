// SPDX-License-Identifier: Apache-2.0
#include "core/cost/roofline.h"

#include <gtest/gtest.h>

namespace fusescope {
namespace {

DeviceSpec device() { // round figures: ridge 100 FLOP/byte
    DeviceSpec d;
    d.bandwidth_Bps = 1e12;
    d.bf16_tensor = 1e14;
    d.fp32 = 1e13;
    d.launch_us = 10;
    return d;
}

OpCost work(double flops, double tensor, double bytes) {
    OpCost c;
    c.flops = flops;
    c.tensor_flops = tensor;
    c.bytes_read = bytes;
    c.dtype = DType::BFloat16;
    c.flops_known = c.bytes_known = true;
    return c;
}

TEST(Roofline, Roof) {
    EXPECT_DOUBLE_EQ(roof(device(), 10, 1e14), 1e13);
    EXPECT_DOUBLE_EQ(roof(device(), 100, 1e14), 1e14); // the ridge
    EXPECT_DOUBLE_EQ(roof(device(), 1000, 1e14), 1e14);
    EXPECT_DOUBLE_EQ(roof(device(), -1, 1e14), 0);
}

TEST(Roofline, ShortestTime) {
    EXPECT_DOUBLE_EQ(rooflineNs(work(0, 0, 1e9), device()), 1e6);       // 1 GB at 1 TB/s
    EXPECT_DOUBLE_EQ(rooflineNs(work(1e12, 1e12, 1e9), device()), 1e7); // 1 TFLOP at 100 TFLOP/s
    EXPECT_DOUBLE_EQ(rooflineNs(work(1e12, 0, 1e9), device()), 1e8);    // not on tensor cores
    EXPECT_DOUBLE_EQ(rooflineNs(OpCost{}, device()), 0);
}

TEST(Roofline, Bounds) {
    EXPECT_EQ(boundOf(work(1e9, 0, 1e9), 2e6, device()), Bound::Memory);
    EXPECT_EQ(boundOf(work(1e12, 1e12, 1e9), 2e7, device()), Bound::Compute);
    EXPECT_EQ(boundOf(OpCost{}, 1e6, device()), Bound::Unknown);
    OpCost flops_unknown = work(0, 0, 1e9);
    flops_unknown.flops_known = false;
    EXPECT_EQ(boundOf(flops_unknown, 2e6, device()), Bound::Memory);
}

TEST(Roofline, LaunchBound) { // article, 3.3: shorter than 50 us at 10 us a launch
    EXPECT_EQ(boundOf(work(0, 0, 1e6), 5e3, device()), Bound::Launch); // 1 us of work in 5 us
    EXPECT_EQ(boundOf(work(0, 0, 40e6), 45e3, device()),
              Bound::Memory); // 40 us of work in 45 us: not the launch's fault
    EXPECT_EQ(boundOf(work(0, 0, 1e6), 60e3, device()), Bound::Memory); // slow, but long
}

} // namespace
} // namespace fusescope
