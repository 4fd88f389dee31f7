// SPDX-License-Identifier: Apache-2.0
// Recognising where an event begins without having parsed what stands before it.
//
// `{` followed by a quoted key and a colon cannot lie inside a string of valid JSON: the quote would end that string
// and a letter would follow it. So the pattern is a sound place to cut a trace into batches, and, where a lost quote
// made everything after it a string, the place to go on.
#pragma once

#include <cstddef>
#include <string_view>

namespace fusescope::chrome {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// text[at] is the `{` of an event: its first key is one of an event's, and before it stands `,`, `[`, `}` or nothing.
[[nodiscard]] bool isEventStart(std::string_view text, std::size_t at) noexcept;
// First event start at or after from, kNowhere if there is none before `to`.
[[nodiscard]] std::size_t findEventStart(std::string_view text, std::size_t from, std::size_t to = kNowhere) noexcept;
// The same, only those that begin with "ph", as profilers write nearly all: also inside an array of objects no chance
// hit.
[[nodiscard]] std::size_t findPhaseStart(std::string_view text, std::size_t from) noexcept;
// Last event start of the text that is not its first byte; kNowhere if none.
[[nodiscard]] std::size_t findLastEventStart(std::string_view text) noexcept;

} // namespace fusescope::chrome
