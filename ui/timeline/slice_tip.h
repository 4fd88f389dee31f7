// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline tells about a slice under the mouse.
#pragma once

#include "core/analysis/analysis.h"
#include "core/draw/timeline_draw.h"

#include <QString>

namespace fusescope {

// Rich text; everything from the trace is escaped. after: what is shown, null as recorded.
[[nodiscard]] QString sliceTip(const Analysis& analysis, SliceId slice, const TimelineAfter* after = nullptr);

struct RangeFacts {
    double span_ns = 0, busy_ns = 0;
    std::size_t kernels = 0;
};
// GPU work that meets a range of shown times: union of its durations, clipped to the range.
[[nodiscard]] RangeFacts factsOfRange(const Analysis& analysis, std::int64_t t0, std::int64_t t1,
                                      const TimelineAfter* after = nullptr);

} // namespace fusescope
