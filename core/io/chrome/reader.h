// SPDX-License-Identifier: Apache-2.0
// Reading a trace that is in memory already: tests and fuzzers.
#pragma once

#include "core/base/result.h"
#include "core/trace/trace_store.h"

#include <string>
#include <string_view>

namespace fusescope {

[[nodiscard]] Result<TracePtr> readKinetoText(std::string_view text, const std::string &path = "memory");

} // namespace fusescope
