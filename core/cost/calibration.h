// SPDX-License-Identifier: Apache-2.0
// What was measured on a GPU of the user's, kept per GPU and driver in the user's configuration, in the format of
// resources/devices. A trace that names such a GPU is then analysed with these figures.
#pragma once

#include "core/base/json_writer.h"
#include "core/cost/device.h"

#include <string>
#include <string_view>

namespace fusescope {

struct Calibration {
    std::string gpu;                            // "NVIDIA H200"
    double copy_Bps = 0, bf16_matmul_flops = 0; // 0: not measured
    int multiprocessors = 0;
    double l2_bytes = 0;
};

// The preset of that GPU with what was measured in its place. A GPU without a preset gets peaks estimated from what was
// reached: a copy 88% of the bandwidth, a matrix product 80% of the tensor cores.
[[nodiscard]] DeviceSpec calibratedDevice(const Calibration& measured);
// The members of a device description (name, source, figures); the object is the caller's.
void writeDevice(JsonWriter& json, const DeviceSpec& spec);

// $XDG_CONFIG_HOME/fusescope/devices, else ~/.config/fusescope/devices; "" where neither is known.
[[nodiscard]] std::string calibrationFolder();
// "GPU-5f6c...-580.159.04.json": nothing that is no file name comes out, whatever a runner said.
[[nodiscard]] std::string calibrationFile(std::string_view uuid, std::string_view driver);

} // namespace fusescope
