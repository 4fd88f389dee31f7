// SPDX-License-Identifier: Apache-2.0
// Is a text well-formed XML? Enough of the rules to catch a picture that a browser or Inkscape would refuse.
#pragma once

#include <string>
#include <string_view>

namespace fusescope::testing {

// "" when well-formed, else what is wrong and where.
[[nodiscard]] std::string xmlProblem(std::string_view text);

} // namespace fusescope::testing
