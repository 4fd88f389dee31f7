// SPDX-License-Identifier: Apache-2.0
// The sections of the HTML report; each appends its own part. Everything that comes from a file goes through esc().
#pragma once

#include "core/analysis/analysis.h"
#include "core/draw/names.h"
#include "core/draw/svg.h"
#include "core/report/measured_parts.h"
#include "core/report/report.h"

#include <string>
#include <string_view>

namespace fusescope::html {

[[nodiscard]] inline std::string esc(std::string_view text, std::size_t max_bytes = 600) {
    return escapeXml(text, max_bytes);
}
[[nodiscard]] inline std::string percent(double share) { return escapeXml(shareText(share)); } // "<0.1%" has a '<'
// A figure that is not known shows as a dash, never as zero.
[[nodiscard]] std::string orDash(std::string text);
[[nodiscard]] std::string badge(Verdict verdict);
[[nodiscard]] std::string boundBadge(Bound bound);
[[nodiscard]] std::string kindDot(OpKind kind);
[[nodiscard]] std::string shareBar(double share); // small bar with its percentage

[[nodiscard]] std::string styleSheet();
void headerSection(const Analysis& analysis, const MeasuredView& measured, std::string& out);
void findingsSection(const Analysis& analysis, const MeasuredView& measured, std::string& out); // plan and cards
// Of a card. promised: as in predictedToMeasured().
void measuredSection(const Analysis& analysis, const MeasuredFinding& finding, std::string& out, bool promised = true);
[[nodiscard]] std::string measuredCell(const MeasuredFinding& finding); // of the findings' table, behind the prediction
void regionsSection(const Analysis& analysis, const MeasuredView& measured, std::string& out); // "" without any
// With what was measured drawn as the window draws it. plan: as measured.
void picturesSection(const Analysis& analysis, const LayoutFunction& layout, const MeasuredSet& set,
                     const MeasuredPlan& plan, ChosenRegions regions, std::string& out);
void tablesSection(const Analysis& analysis, std::string& out);
void linkSection(const Analysis& analysis, std::string& out);
void methodSection(const Analysis& analysis, const MeasuredView& measured, std::string& out);

} // namespace fusescope::html
