// SPDX-License-Identifier: Apache-2.0
// Kernels that run side by side on one GPU: in several streams, or of several processes.
#pragma once

#include "core/fusion/finding.h"

#include <cstdint>
#include <vector>

namespace fusescope {

// While n kernels run at once, each counts for an n-th of the time: so kernels never add up to more than the GPU was
// busy, and no sum of savings to more than the step. Communication is left out: what it runs beside hides it.
class SideBySide {
public:
    // link: null, or parallel to the trace. step -1: all of it.
    SideBySide(const TraceStore* trace, const Link* link, std::int16_t step);
    [[nodiscard]] bool any() const noexcept { return !gpus_.empty(); }
    // Of the time of the instance's kernels, what counts for it: 1 where nothing ran beside them.
    [[nodiscard]] double partOf(const Instance& instance) const;

private:
    struct Gpu {
        std::int32_t device = -1;
        std::vector<std::int64_t> at;  // ns, ascending
        std::vector<double> one_of_ns; // up to there, what counts for a kernel that ran all the time
    };
    const TraceStore* trace_ = nullptr;
    std::vector<Gpu> gpus_; // those on which it matters
};

} // namespace fusescope
