// SPDX-License-Identifier: Apache-2.0
// fusescope-layout speaks one JSON line each way: a LayoutRequest in, a LayoutResult (or {"error":...}) out.
#pragma once

#include "core/base/result.h"
#include "core/graph/layout.h"

#include <string>
#include <string_view>

namespace fusescope {

constexpr int kLayoutTimeoutMs = 3000; // then the worker is killed and the layered layout is used

[[nodiscard]] std::string encodeLayoutRequest(const LayoutRequest& request);
[[nodiscard]] Result<LayoutRequest> decodeLayoutRequest(std::string_view line);
[[nodiscard]] std::string encodeLayoutResult(const LayoutResult& result);
[[nodiscard]] Result<LayoutResult> decodeLayoutResult(std::string_view line, const LayoutRequest& request);

} // namespace fusescope
