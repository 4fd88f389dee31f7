// SPDX-License-Identifier: Apache-2.0
#include "core/base/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace fusescope {
namespace {

// Beyond these, which nothing that is measured reaches, numbers are written with their exponent.
constexpr int kLeastExponent = -15, kMostExponent = 18;

struct Unit {
    double factor;
    const char* name;
};

// Three significant digits in the unit that leaves 1 to 999 before it; rounding may carry into the next unit.
std::string withUnit(double value, std::span<const Unit> units) {
    if (!std::isfinite(value)) return "n/a";
    const double size = std::fabs(value);
    std::size_t u = 0;
    while (u + 1 < units.size() && size >= units[u + 1].factor) ++u;
    double scaled = value / units[u].factor;
    if (std::fabs(scaled) >= 999.5 && u + 1 < units.size()) scaled = value / units[++u].factor;
    return formatSignificant(scaled) + " " + units[u].name;
}

} // namespace

std::string formatSignificant(double value, int digits) {
    if (!std::isfinite(value)) return "n/a";
    if (value == 0) return "0";
    // Rounded first: 9.999 with three digits is 10.0.
    std::string text = fmt::format("{:.{}e}", value, digits - 1);
    int exponent = 0;
    const std::size_t at = text.find('e') + (text[text.find('e') + 1] == '+' ? 2 : 1);
    std::from_chars(text.data() + at, text.data() + text.size(), exponent);
    if (exponent < kLeastExponent || exponent > kMostExponent) return text; // else hundreds of zeros
    return fmt::format("{:.{}f}", value, std::max(0, digits - 1 - exponent));
}

std::string formatDuration(double ns) {
    static constexpr std::array<Unit, 4> kUnits{{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};
    return withUnit(ns, kUnits);
}
std::string formatBytes(double bytes) {
    static constexpr std::array<Unit, 5> kUnits{{{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}}};
    return withUnit(bytes, kUnits);
}
std::string formatBandwidth(double bytes_per_s) { return formatBytes(bytes_per_s) + "/s"; }
std::string formatFlops(double flops) {
    static constexpr std::array<Unit, 6> kUnits{
        {{1, "FLOP"}, {1e3, "kFLOP"}, {1e6, "MFLOP"}, {1e9, "GFLOP"}, {1e12, "TFLOP"}, {1e15, "PFLOP"}}};
    return withUnit(flops, kUnits);
}
std::string formatFlopRate(double flops_per_s) { return formatFlops(flops_per_s) + "/s"; }

std::string formatCount(std::int64_t n) {
    std::string digits = std::to_string(n);
    const std::size_t first = n < 0 ? 1 : 0;
    for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
    return digits;
}
std::string formatCountShort(double n) {
    static constexpr std::array<Unit, 5> kUnits{{{1, ""}, {1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}}};
    std::string text = withUnit(n, kUnits);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    return text;
}
std::string formatMean(double n) {
    if (!(std::fabs(n) < 1e15)) return "n/a";
    if (n == std::round(n)) return formatCount(static_cast<std::int64_t>(n));
    return std::fabs(n) >= 1 && std::fabs(n) < 100 ? fmt::format("{:.1f}", n) : formatSignificant(n);
}
std::string formatCounted(std::int64_t n, std::string_view one) {
    return formatCount(n) + " " + std::string(one) + (n == 1 ? "" : "s");
}
std::string formatAverage(double n, std::string_view one) {
    if (n == std::round(n) && std::fabs(n) < 1e15) return formatCounted(static_cast<std::int64_t>(n), one);
    return formatMean(n) + " " + std::string(one) + "s on average";
}
std::string formatPercent(double share) { return formatSignificant(share * 100) + "%"; }

} // namespace fusescope
