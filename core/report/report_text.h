// SPDX-License-Identifier: Apache-2.0
// Sentences and figures that HTML and Markdown share.
#pragma once

#include "core/analysis/analysis.h"
#include "core/report/measured_parts.h"

#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

[[nodiscard]] std::string_view signalName(int signal) noexcept; // of the article's four
[[nodiscard]] std::string deviceText(const DeviceSpec& device); // "NVIDIA H200 (named in the trace, preset figures)"
[[nodiscard]] std::string rangeText(const Range& ns);           // "4.20 ms (3.10 - 5.00 ms)"
[[nodiscard]] std::string kernelsText(const Finding& finding);  // per instance, now and fused: "24.8 → 3.9"
// "143 ms: 72.2 ms kernels, 70.4 ms waiting for launches" where the GPU waits between its kernels, else the time.
[[nodiscard]] std::string timeText(const Finding& finding);
// What a part of the plan leaves out of its finding: "of 19.2 ms; the rest is counted in Residual add + RMSNorm", else
// "".
[[nodiscard]] std::string planRestText(const Analysis& analysis, const MeasuredView& measured, const PlanPart& part);
[[nodiscard]] std::string modelText(const ModelFacts& model); // "36 × Qwen3DecoderLayer · hidden 4096 ..."
// Problems of all inputs, a sentence each, with how often.
struct ProblemLine {
    std::string where, kind, message;
    std::uint64_t count = 1;
};
[[nodiscard]] std::vector<ProblemLine> problemLines(const Analysis& analysis);
[[nodiscard]] const Finding* findingById(const Analysis& analysis, std::string_view id);
// How the numbers were made, for the reader who has to trust them.
[[nodiscard]] std::vector<std::string> methodNotes(const Analysis& analysis, const MeasuredView& measured);

} // namespace fusescope
