// SPDX-License-Identifier: Apache-2.0
#include "core/draw/text_fit.h"

#include <array>
#include <cstdint>

namespace fusescope {
namespace {

// Hundredths of the font size for ' ' .. '~': the wider of Inter and DejaVu Sans.
constexpr std::array<std::uint8_t, 95> kWidths = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 46, 32, 36, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 73, 77, 63, 59, 77, 75, 29, 54, 66, 56, 89, 75, 79,
    63, 79, 69, 64, 64, 74, 68, 99, 69,  66, 69, 39, 36, 39, 84, 50, 50, 61, 63, 56, 63, 62, 36, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 54, 64, 34, 64, 84};

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";

struct CodePoint {
    char32_t value = 0xFFFD;
    std::size_t bytes = 1;
    bool valid = false;
};

CodePoint decode(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<std::uint8_t>(text[at + i]); };
    const std::uint32_t first = byte(0);
    if (first < 0x80) return {static_cast<char32_t>(first), 1, true};
    const std::size_t need = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
    if (need == 0 || first > 0xF4 || at + need > text.size()) return {};
    std::uint32_t value = first & (0xFFU >> (need + 1));
    for (std::size_t i = 1; i < need; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) return {};
        value = (value << 6U) | (byte(i) & 0x3FU);
    }
    constexpr std::array<std::uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
    const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
    if (value < least[need] || surrogate || value > 0x10FFFF) return {};
    return {static_cast<char32_t>(value), need, true};
}

// Characters that XML forbids, that change the direction of the text around them, or that cannot be seen at all.
bool hidden(char32_t c) noexcept {
    return (c >= 0x80 && c <= 0x9F) || c == 0x61C || (c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c & 0xFFFEU) == 0xFFFEU;
}

double widthOf(char32_t c) noexcept {
    if (c >= 0x20 && c < 0x7F) return kWidths[c - 0x20] / 100.0;
    if (c < 0x20) return 0.9; // shown as its picture
    return c >= 0x1100 && c != 0x2026 && (c < 0x2000 || c >= 0x2E80) ? 1.0 : c == 0x2026 ? 0.95 : 0.7;
}

} // namespace

std::string visibleText(std::string_view text, std::size_t max_bytes) {
    std::string out;
    out.reserve(text.size() < max_bytes ? text.size() : max_bytes + 4);
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = decode(text, i);
        if (i + c.bytes > max_bytes) {
            out += kEllipsis;
            break;
        }
        if (!c.valid || hidden(c.value))
            out += kReplacement;
        else if (c.value < 0x20 || c.value == 0x7F) {
            out += "\xE2\x90"; // U+2400 + c, U+2421 for DEL
            out += static_cast<char>(0x80U + (c.value == 0x7F ? 0x21U : static_cast<unsigned>(c.value)));
        } else
            out.append(text.substr(i, c.bytes));
        i += c.bytes;
    }
    return out;
}

double textWidth(std::string_view text, TextStyle style) {
    double units = 0;
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = decode(text, i);
        units += style.mono ? (c.value >= 0x2E80 ? 1.2 : 0.61) : widthOf(c.value);
        i += c.bytes;
    }
    return units * style.size * (style.bold && !style.mono ? 1.06 : 1.0);
}

std::string elided(std::string_view text, TextStyle style, double max_width) {
    // A short text that certainly fits is the common case and needs no measuring.
    if (static_cast<double>(text.size()) * style.size * 1.06 <= max_width) return std::string(text);
    const double scale = style.size * (style.bold && !style.mono ? 1.06 : 1.0);
    const double room = max_width / scale - (style.mono ? 0.61 : 0.95);
    double used = 0;
    std::size_t fits = 0, kept = 0; // bytes and characters that leave room for the ellipsis
    for (std::size_t i = 0; i < text.size();) {
        const CodePoint c = decode(text, i);
        used += style.mono ? (c.value >= 0x2E80 ? 1.2 : 0.61) : widthOf(c.value);
        i += c.bytes;
        if (used <= room) {
            fits = i;
            ++kept;
        }
        if (used * scale > max_width) {
            if (kept < 2) return {};
            while (fits > 0 && text[fits - 1] == ' ') --fits;
            return std::string(text.substr(0, fits)).append(kEllipsis);
        }
    }
    return std::string(text);
}

} // namespace fusescope
