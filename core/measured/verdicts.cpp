// SPDX-License-Identifier: Apache-2.0
#include "core/measured/verdicts.h"

#include <algorithm>

namespace fusescope {
namespace {

constexpr double kMemoryMatters = 0.02;
// An error against fp64 moves by as much when only the order of a sum changes.
constexpr double kMoreExact = 0.8, kLessExact = 1.25;

} // namespace

Verdicts verdictsOf(const Comparison& c) {
    Verdicts out;
    if (!c.has_fused) return out;
    if (c.fused.us.p90 < c.baseline.us.p10)
        out.speed = SpeedVerdict::Faster;
    else if (c.fused.us.p10 > c.baseline.us.p90)
        out.speed = SpeedVerdict::Slower;
    const double before = c.baseline.peak_bytes, after = c.fused.peak_bytes;
    if (before > 0 || after > 0)
        out.memory = after < before * (1 - kMemoryMatters)   ? MemoryVerdict::Less
                     : after > before * (1 + kMemoryMatters) ? MemoryVerdict::More
                                                             : MemoryVerdict::Alike;
    const double error_before = c.baseline.relative_error, error_after = c.fused.relative_error;
    if (c.fused.bitwise)
        out.numbers = NumbersVerdict::SameBits;
    else if (error_before > 0 || error_after > 0)
        out.numbers = error_after < error_before * kMoreExact   ? NumbersVerdict::MoreExact
                      : error_after > error_before * kLessExact ? NumbersVerdict::LessExact
                                                                : NumbersVerdict::AsExact;
    return out;
}

double speedup(const Comparison& c) {
    return c.has_fused && c.fused.us.median > 0 ? c.baseline.us.median / c.fused.us.median : 0;
}

} // namespace fusescope
