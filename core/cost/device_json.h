// SPDX-License-Identifier: Apache-2.0
// A device description as JSON: the presets of resources/devices/, a user's own file, or the "device" object of an
// analysis or a calibration. Private to core/cost.
#pragma once

#include "core/cost/device.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

struct DeviceFile {
    DeviceSpec spec;
    std::vector<std::string> aliases;
};
// where: file name for messages.
[[nodiscard]] Result<DeviceFile> parseDeviceJson(std::string_view json, std::string_view where);

} // namespace fusescope
