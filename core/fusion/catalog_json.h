// SPDX-License-Identifier: Apache-2.0
// Reading one file of resources/catalog. Private to core/fusion.
#pragma once

#include "core/base/result.h"
#include "core/fusion/catalog.h"

#include <string_view>

namespace fusescope {

// where: for messages.
[[nodiscard]] Result<CatalogEntry> parseCatalogEntry(std::string_view json, std::string_view where);

} // namespace fusescope
