// SPDX-License-Identifier: GPL-3.0-or-later
// What Torch throws, as the protocol says it.
#pragma once

#include "job.h"

#include <exception>
#include <string>

namespace fusescope::runner {

// `where`: the step or stage, put in front of the message; may be empty. A Failed stays as it is.
[[nodiscard]] Failed failureOf(const std::exception& error, const std::string& where);

} // namespace fusescope::runner
