// SPDX-License-Identifier: Apache-2.0
// The command that starts a runner: one line of text in a setting or an option, words when it is run.
#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

// Words as a shell splits them: blanks apart, 'single' and "double" quotes, backslashes. Nothing is expanded: a $, * or
// ~ is itself. Errors: a quote that is not closed, no word at all.
[[nodiscard]] Result<std::vector<std::string>> splitCommandLine(std::string_view text);
// One line that splits into these words again.
[[nodiscard]] std::string joinCommandLine(const std::vector<std::string>& words);

struct RunnerCommand {
    std::vector<std::string> words;
    std::string origin; // "the option", "FUSESCOPE_RUNNER", "beside this program", "on PATH"
};
// `asked` (an option or a setting) if there is one, else $FUSESCOPE_RUNNER, else fusescope-runner beside the running
// program, else on PATH. Error: none of them; it says how to get one.
[[nodiscard]] Result<RunnerCommand> findRunner(std::string_view asked);

} // namespace fusescope
