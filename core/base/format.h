// SPDX-License-Identifier: Apache-2.0
// Numbers for people: three significant digits with a unit. Locale-independent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace fusescope {

[[nodiscard]] std::string formatDuration(double ns);           // "12.3 µs", "89.5 ms", "0 ns"
[[nodiscard]] std::string formatBytes(double bytes);           // decimal units: "2.49 GB", "512 B"
[[nodiscard]] std::string formatBandwidth(double bytes_per_s); // "4.80 TB/s"
[[nodiscard]] std::string formatFlops(double flops);           // "137 GFLOP"
[[nodiscard]] std::string formatFlopRate(double flops_per_s);  // "989 TFLOP/s"
[[nodiscard]] std::string formatCount(std::int64_t n);         // "1,630,556,672"
[[nodiscard]] std::string formatCountShort(double n);          // "1.63 B", "151 K"
[[nodiscard]] std::string formatMean(double n);                // of counts: "21", "24.8"
// "1 kernel", "2,048 kernels"; one: the word for a single thing, which takes an s.
[[nodiscard]] std::string formatCounted(std::int64_t n, std::string_view one);
[[nodiscard]] std::string formatAverage(double n, std::string_view one);   // "8 kernels", "24.8 kernels on average"
[[nodiscard]] std::string formatPercent(double share);                     // 0.123 -> "12.3%"
[[nodiscard]] std::string formatSignificant(double value, int digits = 3); // plain; "1.00e+30" where very large

} // namespace fusescope
