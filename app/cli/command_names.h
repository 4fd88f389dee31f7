// SPDX-License-Identifier: GPL-3.0-or-later
// What is said where a command should stand and none does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fusescope::cli {

// "expected a command, analyze, graph or fuse (--help lists them), found 'analize'; the nearest is analyze". found: ""
// where nothing stands there.
[[nodiscard]] std::string noSuchCommand(const std::vector<std::string>& commands, std::string_view found);

} // namespace fusescope::cli
