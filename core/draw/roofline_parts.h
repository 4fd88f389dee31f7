// SPDX-License-Identifier: Apache-2.0
// What the files of the roofline share; not for other parts.
#pragma once

#include "core/draw/roofline_draw.h"

#include <algorithm>
#include <cmath>

namespace fusescope::roofline {

struct Area {
    double left = 0, top = 0, right = 0, bottom = 0;
};

struct Scale { // log-log
    Area area;
    RooflineAxes axes;
    [[nodiscard]] double x(double ai) const noexcept {
        return along(ai, axes.min_ai, axes.max_ai, area.left, area.right);
    }
    [[nodiscard]] double y(double flops) const noexcept {
        return along(flops, axes.min_flops, axes.max_flops, area.bottom, area.top);
    }

private:
    static double along(double v, double low, double high, double from, double to) noexcept {
        if (!(v > 0) || !(high > low) || !(low > 0)) return from;
        return from + std::clamp(std::log10(v / low) / std::log10(high / low), -0.02, 1.02) * (to - from);
    }
};

// Marks with labels; obstacles: where labels may not stand.
void drawMarks(const Analysis& analysis, const Scale& scale, const SelectionSets& selection,
               std::vector<Area> obstacles, DrawList& list);

} // namespace fusescope::roofline
