// SPDX-License-Identifier: Apache-2.0
// Runs a helper program once: bytes to its stdin, bytes from its stdout, killed at the deadline. For programs without
// Qt.
#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

// Result: everything the child wrote to stdout (at most max_output bytes). Errors: not found, died, timed out, too
// much.
[[nodiscard]] Result<std::string> runChild(const std::vector<std::string>& command, std::string_view input,
                                           int timeout_ms, std::size_t max_output = std::size_t{64} << 20);
// Where the running executable lies, without a slash at its end; "" where that cannot be told.
[[nodiscard]] std::string programFolder();
// A program that lies beside the running executable ("fusescope-layout"), or "" if it does not.
[[nodiscard]] std::string siblingProgram(std::string_view name);

} // namespace fusescope
