// SPDX-License-Identifier: Apache-2.0
// Time is int64 nanoseconds, read from decimal microsecond text without going through a double
// (a double of microseconds since the epoch has steps of 0.25 us).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace fusescope {

// "5105189115209.836" -> 5105189115209836. Accepts a sign, exponents ("1.5e3") and any number of decimals
// (rounded half away from zero beyond the third). nullopt: not a number, or out of int64's range.
[[nodiscard]] std::optional<std::int64_t> nanosecondsFromMicroseconds(std::string_view decimal);

} // namespace fusescope
