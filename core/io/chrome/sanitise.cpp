// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/sanitise.h"

#include <array>
#include <cstdint>

namespace fusescope::chrome {
namespace {

std::size_t utf8Length(std::string_view text) { // 0: not the start of a well-formed sequence
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    const unsigned b = byte(0);
    std::size_t n = b < 0x80 ? 1 : b >= 0xC2 && b <= 0xDF ? 2 : b >= 0xE0 && b <= 0xEF ? 3 : b >= 0xF0 && b <= 0xF4 ? 4 : 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    if ((b == 0xE0 && byte(1) < 0xA0) || (b == 0xED && byte(1) > 0x9F) || (b == 0xF0 && byte(1) < 0x90) ||
        (b == 0xF4 && byte(1) > 0x8F))
        return 0;
    return n;
}

bool isHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

// \uD83D\uDE80 is one character; half of it is not UTF-8 and simdjson refuses the document.
bool loneSurrogate(std::string_view at, std::size_t &length) {
    const auto unit = [&](std::size_t from) -> int {
        if (at.size() < from + 6 || at[from] != '\\' || at[from + 1] != 'u') return -1;
        int value = 0;
        for (std::size_t i = 2; i < 6; ++i) {
            const char c = at[from + i];
            if (!isHex(c)) return -1;
            value = value * 16 + (c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
        }
        return value;
    };
    const int first = unit(0);
    length = 6;
    if (first < 0xD800 || first > 0xDFFF) return false;
    const int second = unit(6);
    if (first < 0xDC00 && second >= 0xDC00 && second <= 0xDFFF) {
        length = 12;
        return false;
    }
    return true;
}

void copyEscape(std::string_view rest, std::size_t &i, std::string &out) {
    const std::string_view at = rest.substr(i);
    const char c = at.size() > 1 ? at[1] : '\0';
    if (c == 'u') {
        std::size_t length = 6;
        const bool hex = at.size() >= 6 && isHex(at[2]) && isHex(at[3]) && isHex(at[4]) && isHex(at[5]);
        if (hex && !loneSurrogate(at, length)) out.append(at.substr(0, length));
        else if (hex) out += "\xEF\xBF\xBD";
        else {
            out += "\\\\u"; // a Windows path: \users
            length = 2;
        }
        i += length;
    } else if (c != '\0' && std::string_view("\"\\/bfnrt").find(c) != std::string_view::npos) {
        out.append(at.substr(0, 2));
        i += 2;
    } else { // kept as written: a backslash and the character
        out += "\\\\";
        ++i;
    }
}

} // namespace

std::string sanitised(std::string_view event) {
    static constexpr std::array<std::string_view, 9> kNotNumbers{"-Infinity", "Infinity", "-inf", "+inf", "inf", "-nan", "NaN", "nan", "N/A"};
    std::string out;
    out.reserve(event.size() + 64);
    bool in_string = false;
    for (std::size_t i = 0; i < event.size();) {
        const char c = event[i];
        if (!in_string) {
            std::string_view bad;
            for (const std::string_view word : kNotNumbers)
                if (bad.empty() && event.substr(i, word.size()) == word) bad = word;
            if (!bad.empty()) {
                out += "null";
                i += bad.size();
                continue;
            }
            in_string = c == '"';
            out += c;
            ++i;
        } else if (c == '\\') {
            copyEscape(event, i, out);
        } else if (static_cast<unsigned char>(c) < 0x20) {
            static constexpr char kHex[] = "0123456789abcdef";
            out += "\\u00";
            out += kHex[static_cast<unsigned char>(c) >> 4U];
            out += kHex[static_cast<unsigned char>(c) & 15U];
            ++i;
        } else if (const std::size_t n = utf8Length(event.substr(i)); n == 0) {
            out += "\xEF\xBF\xBD";
            ++i;
        } else {
            in_string = c != '"';
            out.append(event.substr(i, n));
            i += n;
        }
    }
    return out;
}

} // namespace fusescope::chrome
