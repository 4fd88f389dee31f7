// SPDX-License-Identifier: Apache-2.0
// Where the tokens of a piece of JSON are: every { } [ ] : , and the first byte of every string and scalar, outside
// strings. simdjson's first stage finds them at gigabytes a second and validates UTF-8 on the way; where it refuses (a
// control character, a bad byte, an unclosed string) a plain loop does, which takes any bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace fusescope::chrome {

struct Tokens {
    const std::uint32_t* at = nullptr; // positions in the text, rising; at[count] is where they stop
    std::size_t count = 0;
};

class JsonIndex {
public:
    JsonIndex();
    ~JsonIndex();
    JsonIndex(JsonIndex&&) noexcept;
    JsonIndex& operator=(JsonIndex&&) noexcept;

    // Valid until the next call. False: the text is not valid JSON on the level of strings and UTF-8.
    [[nodiscard]] bool strict(std::string_view text, Tokens& out);

    // Tokens of text[from, to), as good as can be. A string that an event start shows to be broken, or one that is
    // still open at `to`, ends the tokens; at[count] is then the string's first byte.
    enum class Stop : std::uint8_t { End, OpenString, EventInString };
    Stop lenient(std::string_view text, std::size_t from, std::size_t to, Tokens& out, std::size_t& event_start);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::vector<std::uint32_t> tokens_;
};

} // namespace fusescope::chrome
