// SPDX-License-Identifier: Apache-2.0
// Measured results as JSON: the member "measured" of a session (fusescope.session/1) and of what `fuse --json` writes
// (fusescope.fuse/1). An entry holds the runner's own answer, so the protocol checks what is read back.
#pragma once

#include "core/base/json_writer.h"
#include "core/measured/measured.h"

#include <string>
#include <string_view>

namespace fusescope {

void writeMeasured(JsonWriter& json, const MeasuredSet& set); // an array
// Of a whole session or fuse file. Errors: another kind of file, no such member, an entry that cannot be read, more
// entries or bytes than make sense. `where` names the file.
[[nodiscard]] Result<MeasuredSet> readMeasured(std::string_view text, const std::string& where);
[[nodiscard]] Result<MeasuredSet> readMeasuredFile(const std::string& path);

} // namespace fusescope
