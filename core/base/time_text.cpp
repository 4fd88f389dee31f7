// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_text.h"

#include <limits>

namespace fusescope {
namespace {
constexpr int kMaxDigits = 400; // longer is not a time

// "5105189115209.836": what profilers write, nearly always.
std::optional<std::int64_t> plain(std::string_view text) {
    constexpr std::size_t kMaxPlain = 19; // digits and the point: no overflow
    if (text.size() < 5 || text.size() > kMaxPlain || text[text.size() - 4] != '.') return std::nullopt;
    std::int64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (i == text.size() - 4) continue;
        const auto digit = static_cast<unsigned>(static_cast<unsigned char>(text[i])) - '0';
        if (digit > 9) return std::nullopt;
        value = value * 10 + digit;
    }
    return value;
}

} // namespace

std::optional<std::int64_t> nanosecondsFromMicroseconds(std::string_view text) {
    if (const auto quick = plain(text)) return quick;
    std::size_t i = 0;
    const auto digit = [&](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
    bool negative = false;
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) negative = text[i++] == '-';
    // Digits with the point taken out; point = how many of them stand before it.
    char digits[kMaxDigits];
    int n = 0;
    int point = 0;
    bool any = false;
    for (; digit(i); ++i) {
        any = true;
        if (n == 0 && text[i] == '0') continue; // leading zero
        if (n == kMaxDigits) return std::nullopt;
        digits[n++] = text[i];
        ++point;
    }
    if (i < text.size() && text[i] == '.') {
        for (++i; digit(i); ++i) {
            any = true;
            if (n == 0 && text[i] == '0') {
                --point;
                continue;
            }
            if (n < kMaxDigits) digits[n++] = text[i];
        }
    }
    if (!any) return std::nullopt;
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        bool minus = false;
        if (i < text.size() && (text[i] == '-' || text[i] == '+')) minus = text[i++] == '-';
        if (!digit(i)) return std::nullopt;
        int exponent = 0;
        for (; digit(i); ++i) {
            exponent = exponent * 10 + (text[i] - '0');
            if (exponent > 10000) exponent = 10000;
        }
        point += minus ? -exponent : exponent;
    }
    if (i != text.size()) return std::nullopt;
    // Nanoseconds: three more digits before the point.
    const int keep = point + 3;
    if (n == 0) return 0;
    if (keep < 0) return 0;
    if (keep > 19) return std::nullopt;
    std::uint64_t value = 0;
    for (int k = 0; k < keep; ++k) value = value * 10 + static_cast<std::uint64_t>(k < n ? digits[k] - '0' : 0);
    if (keep < n && digits[keep] >= '5') ++value;
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
    return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

} // namespace fusescope
