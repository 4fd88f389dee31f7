// SPDX-License-Identifier: Apache-2.0
// How long this project's own fused kernels take, measured over tokens x hidden on a GPU (tests/gpu/sweep.py) and kept
// with its figures in resources/devices. It shows where fusing pays and where the launch is all there is to save.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

struct DeviceSpec;

struct FusedPoint {
    double bytes = 0;        // that one kernel must move
    double width = 0;        // of a row, elements
    double us = 0;           // fused
    double framework_us = 0; // PyTorch's own kernel for it; 0: there is none
    double eager_us = 0;
};

struct FusedCurve {      // one pattern in one direction, bf16
    std::string pattern; // catalogue id
    bool backward = false;
    std::vector<FusedPoint> points; // by width, then bytes
};

constexpr std::size_t kMaxFusedPoints = 10'000; // of a device

struct FusedTime {
    double ns = 0;           // 0: no curve
    double framework_ns = 0; // PyTorch's own kernel; 0: there is none
    bool borrowed = false;   // measured on another GPU; what lies above a launch is scaled by the bandwidths
    std::string measured_on; // name of the GPU
};

// Between the points of the nearest width, in logarithms of bytes; below the first point its time, above the last in
// proportion to the bytes.
[[nodiscard]] FusedTime fusedTime(const DeviceSpec& device, std::string_view pattern, bool backward, double bytes,
                                  double width);

} // namespace fusescope
