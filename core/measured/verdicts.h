// SPDX-License-Identifier: Apache-2.0
// What a measurement says of speed, memory and numbers, each on its own.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <string>

namespace fusescope {

enum class SpeedVerdict : std::uint8_t { Faster, Alike, Slower };       // Alike: the spreads overlap
enum class MemoryVerdict : std::uint8_t { Less, Alike, More, Unknown }; // by more than 2%
enum class NumbersVerdict : std::uint8_t { SameBits, MoreExact, AsExact, LessExact, Unknown };

struct Verdicts {
    SpeedVerdict speed = SpeedVerdict::Alike;
    MemoryVerdict memory = MemoryVerdict::Unknown;
    NumbersVerdict numbers = NumbersVerdict::Unknown;
};
[[nodiscard]] Verdicts verdictsOf(const Comparison& comparison);
[[nodiscard]] double speedup(const Comparison& comparison); // of the medians, 0 without a fused form

} // namespace fusescope
