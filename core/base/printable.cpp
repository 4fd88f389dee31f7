// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <cstdint>

namespace fusescope {
namespace {

std::uint32_t codeOf(std::string_view sequence) {
    const auto byte = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
    };
    switch (sequence.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
    case 3: return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
    default: return (byte(0) & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU);
    }
}

// C0, DEL, C1; line and paragraph separators; marks that turn the direction of what follows.
bool isControl(std::uint32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

void appendHex(std::string& out, std::uint32_t value, int digits) {
    constexpr std::string_view kHex = "0123456789abcdef";
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        out += kHex[(value >> static_cast<unsigned>(shift)) & 0xFU];
}

std::string printable(std::string_view text, bool keep_lines) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t n = utf8Length(text);
        const std::uint32_t code = n == 0 ? static_cast<unsigned char>(text.front()) : codeOf(text.substr(0, n));
        if (n > 0 && (!isControl(code) || (keep_lines && code == '\n'))) {
            out.append(text.substr(0, n));
        } else if (code == '\n' || code == '\t' || code == '\r') {
            out += code == '\n' ? "\\n" : code == '\t' ? "\\t" : "\\r";
        } else {
            out += code < 0x100 ? "\\x" : "\\u";
            appendHex(out, code, code < 0x100 ? 2 : 4);
        }
        text.remove_prefix(n == 0 ? 1 : n);
    }
    return out;
}

} // namespace

std::size_t utf8Length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    if (text.empty()) return 0;
    const unsigned b = byte(0);
    const std::size_t n = b < 0x80                 ? 1
                          : b >= 0xC2 && b <= 0xDF ? 2
                          : b >= 0xE0 && b <= 0xEF ? 3
                          : b >= 0xF0 && b <= 0xF4 ? 4
                                                   : 0;
    for (std::size_t i = 1; i < n; ++i)
        if ((byte(i) & 0xC0U) != 0x80U) return 0;
    if ((b == 0xE0 && byte(1) < 0xA0) || (b == 0xED && byte(1) > 0x9F) || (b == 0xF0 && byte(1) < 0x90) ||
        (b == 0xF4 && byte(1) > 0x8F))
        return 0;
    return n;
}

std::string printableLine(std::string_view text) { return printable(text, false); }
std::string printableText(std::string_view text) { return printable(text, true); }

} // namespace fusescope
