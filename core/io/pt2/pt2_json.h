// SPDX-License-Identifier: Apache-2.0
// Small helpers over simdjson's DOM, forgiving: a missing or mistyped member is an empty answer, never an error.
#pragma once

#include "core/base/tensor.h"

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fusescope::pt2 {

using Json = simdjson::dom::element;
using JsonArray = simdjson::dom::array;
using JsonObject = simdjson::dom::object;

[[nodiscard]] std::optional<Json> member(Json json, std::string_view key);  // nullopt: absent or null
[[nodiscard]] std::string_view textMember(Json json, std::string_view key); // "" if absent or no text
[[nodiscard]] std::optional<JsonArray> arrayMember(Json json, std::string_view key);
[[nodiscard]] std::optional<JsonObject> objectMember(Json json, std::string_view key);
[[nodiscard]] bool flagMember(Json json, std::string_view key); // false if absent or no flag
[[nodiscard]] std::optional<std::int64_t> integer(Json json);

// A tagged union of the schema. Spellings through the years: {"as_int": 1}; {"as_int": 1, "as_none": null, ...};
// {"$type": "as_int", "$value": 1}; {"type": "as_int", "value": 1}. Empty tag: not a union.
struct Union {
    std::string_view tag;
    std::optional<Json> value;
};
[[nodiscard]] Union unionOf(Json json);

// A size or stride: a number, {"as_int": n}, or {"as_expr": {...,"hint": n}}; kDynamicSize without a hint.
[[nodiscard]] std::int64_t symbolicInt(Json json);
[[nodiscard]] TensorMeta tensorMeta(Json json);

// Python's spellings, as FX prints them.
[[nodiscard]] std::string pythonFloat(double number);      // "1e-06", "1.0", "inf"
[[nodiscard]] std::string torchDType(std::int64_t number); // 7 -> "torch.float32"
[[nodiscard]] std::string torchLayout(std::int64_t number);
[[nodiscard]] std::string torchMemoryFormat(std::int64_t number);
[[nodiscard]] std::string deviceText(Json json); // "cuda:0"

} // namespace fusescope::pt2
