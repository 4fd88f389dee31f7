// SPDX-License-Identifier: Apache-2.0
// Times that a trace can hold, in ns. The clock may count from 1970 or from a machine's start, and may be set back; 73
// years before its origin and 146 after it are enough for both. Within these bounds the end of every slice and the
// distance of any two times are an int64.
#pragma once

#include <cstdint>

namespace fusescope {

constexpr std::int64_t kEarliestTime = -(std::int64_t{1} << 61);
constexpr std::int64_t kLatestTime = std::int64_t{1} << 62;
constexpr std::int64_t kLongestDuration = std::int64_t{1} << 60; // 36 years

[[nodiscard]] constexpr bool isPlausibleTime(std::int64_t ns) noexcept {
    return ns >= kEarliestTime && ns <= kLatestTime;
}
[[nodiscard]] constexpr bool isPlausibleDuration(std::int64_t ns) noexcept { return ns <= kLongestDuration; }

} // namespace fusescope
