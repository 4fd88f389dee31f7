// SPDX-License-Identifier: Apache-2.0
// What a measurement says, on speed, memory and numerics apart. One rule for the command line, the window and reports:
//
// speed     unsteady: a form was timed in fewer than kFewestFuseRounds rounds, or the speedups between the baseline's
//           10th percentile over the fused form's 90th and the other way round lie more than a factor of 2 apart. Such
//           a figure decides nothing, and what is wrong with it stands beside it.
//           faster / slower: the runs from the 10th to the 90th percentile of both do not overlap, and the medians
//           differ by more than 1%. Else not faster: within the spread.
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

enum class SpeedVerdict : std::uint8_t { Unknown, Faster, NotFaster, Slower, Unsteady };
enum class MemoryVerdict : std::uint8_t { Unknown, Less, Same, More };
enum class NumericsVerdict : std::uint8_t { Unknown, Bitwise, AsExact, LessExact };

struct Speedup {
    double factor = 0;        // of the medians; 0: not known
    double low = 0, high = 0; // what the spreads leave open; 0: too few rounds to know
    int rounds = 0;           // of the form with fewer; 0: not told
    [[nodiscard]] bool steady() const noexcept { return low > 0 && high <= 2 * low; }
};
struct FuseVerdict {
    SpeedVerdict speed = SpeedVerdict::Unknown;
    Speedup speedup, graph_speedup; // launched one by one; under a CUDA graph
    MemoryVerdict memory = MemoryVerdict::Unknown;
    NumericsVerdict numerics = NumericsVerdict::Unknown;
    double error_ratio = 0; // against fp64, fused / baseline; 0: not known
};

[[nodiscard]] Speedup speedupOf(const Spread& baseline, const Spread& fused);
[[nodiscard]] SpeedVerdict speedOf(const Spread& baseline, const Spread& fused);
// fp64: the errors against fp64 were measured (FuseResult::fp64_note is empty). Unknown throughout without a fused
// form.
[[nodiscard]] FuseVerdict judge(const Comparison& comparison, bool fp64);

// What stands beside a speedup that is not steady: "2 rounds", "1.96x to 104x"; "" beside a steady one.
[[nodiscard]] std::string doubtText(const Speedup& speedup);
// Of all that was compared: "forward: 2 rounds, backward under a CUDA graph: 1.96x to 104x", "2 rounds" of all alike;
// "" when all of it is steady.
[[nodiscard]] std::string doubtText(const FuseResult& result);
[[nodiscard]] std::string speedText(const FuseVerdict& verdict);         // "12.8x faster", "no clear difference"
[[nodiscard]] std::string_view nameOf(MemoryVerdict verdict) noexcept;   // "less memory", "same memory"
[[nodiscard]] std::string_view nameOf(NumericsVerdict verdict) noexcept; // "bitwise equal", "as exact as eager"
[[nodiscard]] std::string verdictText(const FuseVerdict& verdict);       // the three, or "no fused form"
// Plain sentences: figures behind the verdict, and what weakens it.
[[nodiscard]] std::vector<std::string> verdictReasons(const Comparison& comparison, const FuseResult& result);

} // namespace fusescope
