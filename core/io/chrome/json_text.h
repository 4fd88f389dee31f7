// SPDX-License-Identifier: Apache-2.0
// The text of JSON strings and numbers, as forgiving as traces need it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fusescope::chrome {

// What a string needed besides plain unescaping.
struct TextRepair {
    bool escape = false; // an escape that JSON does not have: the string is kept as it is written (a Windows path)
    bool bytes = false;  // a control character or bytes that are not UTF-8: U+FFFD instead
    [[nodiscard]] bool any() const noexcept { return escape || bytes; }
};

// raw: between the quotes. The result is valid UTF-8.
[[nodiscard]] std::string unescaped(std::string_view raw, TextRepair& repair);
// True if raw has to go through unescaped(): it holds a backslash or (check_bytes) anything that is not plain UTF-8.
[[nodiscard]] bool needsUnescape(std::string_view raw, bool check_bytes) noexcept;

// A whole number of any width; a fraction is cut off. nullopt: not a number, or outside int64.
[[nodiscard]] std::optional<std::int64_t> integerOf(std::string_view text) noexcept;

} // namespace fusescope::chrome
