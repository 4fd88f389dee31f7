// SPDX-License-Identifier: GPL-3.0-or-later
// What the runner is asked of a finding or of a region of the user's own: one region for each of its shapes.
#pragma once

#include "core/measured/measured.h"
#include "core/region/chosen.h"
#include "core/region/program.h"

#include <QString>

#include <vector>

namespace fusescope {

struct PreparedShape {
    Region region;
    MeasuredResult head; // all but what the runner says
};
struct PreparedWork {
    QString reason;                    // not "": nothing to measure, and why
    std::vector<PreparedShape> shapes; // those that take the most time first
};
// Parallel to the analysis' findings. Of a whole model each takes a walk through its graph: not for the GUI thread.
// What does not fit into memory has that as its reason.
[[nodiscard]] std::vector<PreparedWork> prepareFindings(const Analysis& analysis);
[[nodiscard]] PreparedWork prepareRegion(const Analysis& analysis, const ChosenRegion& chosen, Region region);

} // namespace fusescope
