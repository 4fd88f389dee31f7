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

// Where fusescope-runner is looked for, the first one that is a program counts: beside the program that asks; for one
// that lies in build/<preset>/bin of a source tree, in build/kernels/bin, where ./dev kernels builds it; in the folders
// of PATH. `program_folder` has no slash at its end.
struct RunnerPlace {
    std::string file, origin;
};
[[nodiscard]] std::vector<RunnerPlace> runnerPlaces(std::string_view program_folder, std::string_view path);

struct RunnerCommand {
    std::vector<std::string> words;
    std::string origin; // "the option", "FUSESCOPE_RUNNER", or that of a place
};
// `asked` (an option or a setting) if there is one, else $FUSESCOPE_RUNNER, else fusescope-runner at one of its places.
// Error: none of them; it says how to get one.
[[nodiscard]] Result<RunnerCommand> findRunner(std::string_view asked);

} // namespace fusescope
