// SPDX-License-Identifier: Apache-2.0
// Text from files and names of files, before it reaches a terminal. Whoever wrote it may have put control sequences
// into it: they would move the cursor, set the window's title, or hide the rest of a message.
#pragma once

#include <string>
#include <string_view>

namespace fusescope {

// Control characters (also those of Unicode that turn the direction of a line) as \n, \x1b, \u202e, bytes that are not
// UTF-8 as \xff. The result is UTF-8 and one line.
[[nodiscard]] std::string printableLine(std::string_view text);
// The same, but ends of lines stay.
[[nodiscard]] std::string printableText(std::string_view text);
// Length of the well-formed UTF-8 sequence at the start of the text, 0 if there is none.
[[nodiscard]] std::size_t utf8Length(std::string_view text) noexcept;

} // namespace fusescope
