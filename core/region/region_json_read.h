// SPDX-License-Identifier: Apache-2.0
// Private to region_json.cpp and the runner's protocol.
#pragma once

#include "core/region/json_fields.h"
#include "core/region/program.h"

namespace fusescope {

// False: the reader tells why.
bool readRegion(json::Reader& reader, json::Element object, Region& out);

} // namespace fusescope
