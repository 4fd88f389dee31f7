// SPDX-License-Identifier: Apache-2.0
// What a measurement says, on speed, memory and numerics apart. One rule for the command line, the window and reports:
//
// speed     faster / slower: the runs from the 10th to the 90th percentile of both do not overlap, and the medians
//           differ by more than 1%. Else not faster: within the spread. Of too few rounds for a spread the
//           medians decide, and the reasons say so.
// memory    less / more: the peaks differ by more than 2% and by 64 KiB. Else the same.
// numerics  bitwise: the baseline's bits. As exact: its error against fp64 is at most 1.2 times the baseline's, or as
//           small as the reference's own rounding (1e-15). Less exact: more than that. Unknown: there is no fp64
//           reference.
#pragma once

#include "core/ipc/runner_protocol.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fusescope {

enum class SpeedVerdict : std::uint8_t { Unknown, Faster, NotFaster, Slower };
enum class MemoryVerdict : std::uint8_t { Unknown, Less, Same, More };
enum class NumericsVerdict : std::uint8_t { Unknown, Bitwise, AsExact, LessExact };

struct FuseVerdict {
    SpeedVerdict speed = SpeedVerdict::Unknown;
    double speedup = 0;       // of the medians; 0: not known
    double graph_speedup = 0; // under a CUDA graph; 0: not measured
    MemoryVerdict memory = MemoryVerdict::Unknown;
    NumericsVerdict numerics = NumericsVerdict::Unknown;
    double error_ratio = 0; // against fp64, fused / baseline; 0: not known
};

[[nodiscard]] SpeedVerdict speedOf(const Spread& baseline, const Spread& fused);
// fp64: the errors against fp64 were measured (FuseResult::fp64_note is empty). Unknown throughout without a fused
// form.
[[nodiscard]] FuseVerdict judge(const Comparison& comparison, bool fp64);

[[nodiscard]] std::string speedText(const FuseVerdict& verdict);         // "12.8x faster", "no clear difference"
[[nodiscard]] std::string_view nameOf(MemoryVerdict verdict) noexcept;   // "less memory", "same memory"
[[nodiscard]] std::string_view nameOf(NumericsVerdict verdict) noexcept; // "bitwise equal", "as exact as eager"
[[nodiscard]] std::string verdictText(const FuseVerdict& verdict);       // the three, or "no fused form"
// Plain sentences: figures behind the verdict, and what weakens it.
[[nodiscard]] std::vector<std::string> verdictReasons(const Comparison& comparison, const FuseResult& result);

} // namespace fusescope
