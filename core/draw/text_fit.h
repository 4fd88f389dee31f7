// SPDX-License-Identifier: Apache-2.0
// How much room text takes, without font metrics: the same answer in the window, the report and the tests. The estimate
// is on the wide side, so that text never runs over its box.
#pragma once

#include <string>
#include <string_view>

namespace fusescope {

struct TextStyle {
    double size = 12;
    bool bold = false, mono = false;
};

// UTF-8 made fit to show: control characters become their visible pictures (U+2400 ...), text-direction overrides and
// bytes that are not UTF-8 become U+FFFD. Reads at most max_bytes (whole characters); "…" says that there was more.
[[nodiscard]] std::string visibleText(std::string_view text, std::size_t max_bytes = 4096);
// Pixels of one line.
[[nodiscard]] double textWidth(std::string_view text, TextStyle style);
// The text, or its beginning with "…" so that it fits; "" when not even two characters do.
[[nodiscard]] std::string elided(std::string_view text, TextStyle style, double max_width);

} // namespace fusescope
