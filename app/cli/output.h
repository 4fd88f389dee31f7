// SPDX-License-Identifier: GPL-3.0-or-later
// Writing results: whole files, replaced only when complete.
#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope::cli {

// target "-": stdout. A file is written beside its name and renamed, so that a reader never sees half of it; links are
// followed, the mode of what is replaced stays. A device or a pipe is written to.
[[nodiscard]] Status writeResult(const std::string& target, std::string_view text);
// Before anything is read: no target may be one of the inputs, and no two targets the same. Empty ones do not count.
[[nodiscard]] Status checkTargets(const std::vector<std::string>& inputs, const std::vector<std::string>& targets);
// Before what takes minutes: whether writeResult() could begin to. "" and "-" always.
[[nodiscard]] Status checkWritable(const std::string& target);
void complain(const std::string& sentence); // "fusescope-cli: ..." on stderr

} // namespace fusescope::cli
