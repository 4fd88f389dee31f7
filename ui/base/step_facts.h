// SPDX-License-Identifier: GPL-3.0-or-later
// What a step's figures say in one word.
#pragma once

#include "core/analysis/analysis.h"

namespace fusescope {

enum class GpuUse : std::uint8_t {
    Unknown,  // no times
    Busy,     // works for at least half of the step
    Launches, // mostly waits, each time shortly, for the next launch
    Waiting,  // mostly waits, for something else: data, synchronisation, another rank
};
[[nodiscard]] GpuUse gpuUse(const StepStats& step) noexcept;

} // namespace fusescope
