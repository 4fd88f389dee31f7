// SPDX-License-Identifier: GPL-3.0-or-later
// Writing results: whole files, replaced only when complete.
#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace fusescope::cli {

// target "-": stdout. A file is written beside its name and renamed, so that a reader never sees half of it.
[[nodiscard]] Status writeResult(const std::string& target, std::string_view text);
void complain(const std::string& sentence); // "fusescope-cli: ..." on stderr

} // namespace fusescope::cli
