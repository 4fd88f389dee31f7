// SPDX-License-Identifier: Apache-2.0
// Makes JSON of what profilers wrote instead: bare inf/nan/N/A, raw control characters, bad escapes, bytes that are not UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace fusescope::chrome {

// Same meaning where it had one; the length may change.
[[nodiscard]] std::string sanitised(std::string_view event);

} // namespace fusescope::chrome
