// SPDX-License-Identifier: GPL-3.0-or-later
// A finding in full, as HTML for the pane below the list and as Markdown for the clipboard. Not for other parts.
#pragma once

#include "core/analysis/analysis.h"
#include "core/draw/draw_list.h"
#include "core/measured/measured.h"

#include <QString>

namespace fusescope {

// Links: "finding:<id>" picks another one, "instance:<n>" one occurrence of this one.
// measured: what runners measured of it, may be null.
[[nodiscard]] QString findingHtml(const Analysis& analysis, std::size_t row, Theme theme,
                                  const MeasuredFinding* measured = nullptr);
[[nodiscard]] QString findingMarkdown(const Analysis& analysis, std::size_t row,
                                      const MeasuredFinding* measured = nullptr);
// "step 93.1 ms → 68.4 ms (66.0–72.0 ms) with 5 findings", "" when there is no plan.
[[nodiscard]] QString planText(const Analysis& analysis);

} // namespace fusescope
