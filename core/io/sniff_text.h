// SPDX-License-Identifier: Apache-2.0
// What bytes are that are no ZIP archive, from their beginning. Private to core/io.
#pragma once

#include "core/io/open.h"

#include <string_view>

namespace fusescope {

// head: the first bytes behind white space, about a megabyte.
[[nodiscard]] Sniffed sniffBytes(std::string_view head);

} // namespace fusescope
