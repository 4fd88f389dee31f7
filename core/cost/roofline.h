// SPDX-License-Identifier: Apache-2.0
// Where a piece of work stands under the roofline.
#pragma once

#include "core/cost/cost.h"
#include "core/cost/device.h"

#include <cstdint>
#include <string_view>

namespace fusescope {

enum class Bound : std::uint8_t { Unknown, Memory, Compute, Launch };
[[nodiscard]] std::string_view nameOf(Bound bound) noexcept; // "memory" ...

// Highest FLOP/s that the device allows at an intensity (FLOP/byte).
[[nodiscard]] double roof(const DeviceSpec& device, double intensity, double peak_flops) noexcept;
// Launch when the work is so short that the launch costs more than a fifth of it (article, 3.3: < 50 us at 10 us) and
// the roofline says it could be far shorter; else memory or compute by the ridge point. Documented in the .cpp.
[[nodiscard]] Bound boundOf(const OpCost& cost, double time_ns, const DeviceSpec& device) noexcept;
// Shortest time (ns) the roofline allows for this cost.
[[nodiscard]] double rooflineNs(const OpCost& cost, const DeviceSpec& device) noexcept;

} // namespace fusescope
