// SPDX-License-Identifier: Apache-2.0
#include "core/io/chrome/json_text.h"

#include "core/base/printable.h"

#include <charconv>
#include <cmath>
#include <cstring>

namespace fusescope::chrome {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

int hexUnit(std::string_view at) { // the four digits after \u, -1 if they are not there
    if (at.size() < 6 || at[0] != '\\' || at[1] != 'u') return -1;
    int value = 0;
    for (std::size_t i = 2; i < 6; ++i) {
        const char c = at[i];
        int digit = 0;
        if (c >= '0' && c <= '9')
            digit = c - '0';
        else if (c >= 'a' && c <= 'f')
            digit = c - 'a' + 10;
        else if (c >= 'A' && c <= 'F')
            digit = c - 'A' + 10;
        else
            return -1;
        value = value * 16 + digit;
    }
    return value;
}

void appendUtf8(std::string& out, std::uint32_t code) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (code < 0x80)
        put(code);
    else if (code < 0x800) {
        put(0xC0U | (code >> 6U));
        put(0x80U | (code & 0x3FU));
    } else if (code < 0x10000) {
        put(0xE0U | (code >> 12U));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    } else {
        put(0xF0U | (code >> 18U));
        put(0x80U | ((code >> 12U) & 0x3FU));
        put(0x80U | ((code >> 6U) & 0x3FU));
        put(0x80U | (code & 0x3FU));
    }
}

// "C:\build\tools": every escape in it may be legal (\b, \t) and still none is meant.
bool isWindowsPath(std::string_view raw) {
    const char drive = raw.empty() ? ' ' : static_cast<char>(raw[0] | 0x20);
    return raw.size() > 3 && drive >= 'a' && drive <= 'z' && raw[1] == ':' && raw[2] == '\\' && raw[3] != '\\';
}

bool hasBadEscape(std::string_view raw) {
    if (isWindowsPath(raw)) return true;
    for (std::size_t i = raw.find('\\'); i != std::string_view::npos; i = raw.find('\\', i + 2)) {
        const char c = i + 1 < raw.size() ? raw[i + 1] : '\0';
        if (c == 'u') {
            if (hexUnit(raw.substr(i)) < 0) return true;
        } else if (c == '\0' || std::strchr("\"\\/bfnrt", c) == nullptr) {
            return true;
        }
    }
    return false;
}

// One escape at the start of `at`, known to be well formed; returns its length.
std::size_t appendEscape(std::string_view at, std::string& out, TextRepair& repair) {
    switch (at[1]) {
    case 'b': out += '\b'; return 2;
    case 'f': out += '\f'; return 2;
    case 'n': out += '\n'; return 2;
    case 'r': out += '\r'; return 2;
    case 't': out += '\t'; return 2;
    case 'u': break;
    default: out += at[1]; return 2;
    }
    const auto first = static_cast<std::uint32_t>(hexUnit(at));
    if (first < 0xD800 || first > 0xDFFF) {
        appendUtf8(out, first);
        return 6;
    }
    const int second = hexUnit(at.substr(6)); // json.dumps writes an emoji as two halves
    if (first < 0xDC00 && second >= 0xDC00 && second <= 0xDFFF) {
        appendUtf8(out, 0x10000U + ((first - 0xD800U) << 10U) + (static_cast<std::uint32_t>(second) - 0xDC00U));
        return 12;
    }
    out += kReplacement;
    repair.bytes = true;
    return 6;
}

} // namespace

bool needsUnescape(std::string_view raw, bool check_bytes) noexcept {
    if (!check_bytes) return !raw.empty() && std::memchr(raw.data(), '\\', raw.size()) != nullptr;
    for (const char c : raw)
        if (c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x80) return true;
    return false;
}

std::string unescaped(std::string_view raw, TextRepair& repair) {
    std::string out;
    out.reserve(raw.size() + 8);
    const bool verbatim = hasBadEscape(raw);
    if (verbatim) repair.escape = true;
    for (std::size_t i = 0; i < raw.size();) {
        const auto c = static_cast<unsigned char>(raw[i]);
        if (c == '\\' && !verbatim) {
            i += appendEscape(raw.substr(i), out, repair);
        } else if (c == '\\' && i + 1 < raw.size() && raw[i + 1] == '"') {
            out += '"'; // the only way to write one, in a path too
            i += 2;
        } else if (const std::size_t n = c < 0x20 ? 0 : utf8Length(raw.substr(i)); n == 0) {
            out += kReplacement;
            repair.bytes = true;
            ++i;
        } else {
            out.append(raw.substr(i, n));
            i += n;
        }
    }
    return out;
}

std::optional<std::int64_t> integerOf(std::string_view text) noexcept {
    const char* end = text.data() + text.size();
    if (text.size() - 1 < 18) { // 1..18 characters: nearly always plain digits
        std::int64_t n = 0;
        const char* at = text.data();
        for (; at != end && *at >= '0' && *at <= '9'; ++at) n = n * 10 + (*at - '0');
        if (at == end) return n;
    }
    std::int64_t n = 0;
    if (const auto [stop, code] = std::from_chars(text.data(), end, n); code == std::errc{} && stop == end) return n;
    double d = 0;
    const auto [stop, code] = std::from_chars(text.data(), end, d);
    if (code != std::errc{} || stop != end || !std::isfinite(d) || std::fabs(d) >= 9.2e18) return std::nullopt;
    return static_cast<std::int64_t>(d);
}

} // namespace fusescope::chrome
