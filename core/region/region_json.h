// SPDX-License-Identifier: Apache-2.0
// A region as JSON, short enough that a model of many layers fits into a line of the runner's protocol:
//
//   {"id":"rms_norm","pattern":"rms_norm","title":"RMSNorm of ...",
//    "inputs":[{"name":"x","dtype":"bf16","sizes":[1,4096,4096],"fill":"normal","scale":1,"gradient":true}, ...],
//    "baseline":{"steps":[STEP...],"outputs":[REF...]},"fused":{...}, "reason":"", "fused_bytes":67117056, ...}
//
//   STEP  ["aten::mul.Tensor", OUTPUTS, "label", [ARG...]]
//   ARG   ["name", VALUE], or ["name", VALUE, true] for a keyword argument
//   REF   [INPUT] or [STEP, OUTPUT]
//   VALUE null, true, a whole number, a text, REF, {"f":NUMBER or its text}, {"dtype":"bf16"}, {"refs":[REF or
//   null...]},
//         {"ints":[...]}, {"floats":[...]}, {"bools":[...]}
#pragma once

#include "core/base/json_writer.h"
#include "core/base/result.h"
#include "core/region/program.h"

#include <string>
#include <string_view>

namespace fusescope {

void writeRegion(JsonWriter& json, const Region& region);
[[nodiscard]] std::string regionJson(const Region& region);
// What it returns passes checkRegion().
[[nodiscard]] Result<Region> regionFromJson(std::string_view text, std::size_t most_bytes = std::size_t{64} << 20);

} // namespace fusescope
