// SPDX-License-Identifier: Apache-2.0
// The catalogue of fusion points, from resources/catalog/*.json: what a pattern is, what it is worth, who has it
// already.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class Pattern : std::uint8_t {
    Attention,
    RmsNorm,
    AddRmsNorm,
    QkNormRope,
    Rope,
    SwiGlu,
    QkvProjection,
    LinearCrossEntropy,
    Optimizer,
    PointwiseChain,
};
constexpr std::size_t kPatternCount = 10;
[[nodiscard]] std::string_view idOf(Pattern pattern) noexcept; // "add_rms_norm"

struct ExistingSolution {
    std::string name, note;
}; // "Liger", "LigerRMSNorm, forward and backward"

struct CatalogEntry {
    Pattern pattern = Pattern::PointwiseChain;
    std::string title;         // "RMSNorm"
    std::string formula;       // "y = w * x / sqrt(mean(x^2) + eps)"
    std::string before, after; // what runs now, what would run, for people
    std::string article_gain;  // "5-15%", share of step time in the article's table; "" if not listed
    std::string change;        // what to change in one or two sentences
    std::string numerics;      // "bitwise" | "framework order" | "one rounding"
    std::vector<ExistingSolution> existing;
    std::vector<std::string> fused_kernels;    // substrings of kernel names that show it is fused already
    std::vector<std::string> fused_ops;        // operators that are the fused form ("aten::_fused_rms_norm")
    std::vector<std::string> backward_kernels; // of the fused form's backward, where no sequence number links it
};
[[nodiscard]] const CatalogEntry& catalogEntry(Pattern pattern); // embedded, always there

} // namespace fusescope
