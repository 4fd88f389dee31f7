// SPDX-License-Identifier: GPL-3.0-or-later
// Words about jobs and measured results, shared by list, details, bar and the copied text.
#pragma once

#include "core/draw/draw_list.h"
#include "core/measured/measured.h"
#include "ui/fuse/fuse_queue.h"

#include <QString>
#include <QStringList>

namespace fusescope {

struct FuseWords {
    QString short_text, long_text;
};

// Stands beside a speedup that is not steady: " (2 rounds)", " (1.96× to 104×)"; "" beside a steady one.
[[nodiscard]] QString doubtWords(const Speedup& speedup);
[[nodiscard]] QString jobText(const FuseJob& job); // "fused forward, 2 of 3", "waiting"
// What went wrong, in a few words and in full with what helps.
[[nodiscard]] FuseWords errorWords(const RunnerError& error);
// "−13.1 → −11.8 ms/step", "measured slower: +0.2 ms/step"; "" when nothing is measured.
[[nodiscard]] QString measuredSavingText(const MeasuredFinding& finding);
// In a line, of the shape that takes the most time: "NVIDIA H200: forward 3.41×, backward 2.90×". "" without a result.
[[nodiscard]] QString measuredLine(const MeasuredFinding& finding);
// The same where the prediction stays, in a few words: "CPU run: the prediction stays"; "" when it does not.
[[nodiscard]] QString measuredShortCaveat(const MeasuredFinding& finding);
// Why results do not override the prediction; "" when they do.
[[nodiscard]] QString measuredCaveat(const MeasuredFinding& finding);
// All results of a finding, for the pane below the list; "" without one.
[[nodiscard]] QString measuredHtml(const MeasuredFinding& finding, Theme theme);
[[nodiscard]] QStringList measuredMarkdown(const MeasuredFinding& finding);
// "step", or "trace" of a trace without steps.
[[nodiscard]] QString spanName(const Analysis& analysis);
// "step 93.1 ms → 70.2 ms, measured in 2 of 5 findings", "" when nothing of the plan is measured.
[[nodiscard]] QString measuredPlanText(const Analysis& analysis, const MeasuredPlan& plan);
// That the step's length is in part predicted still, and that the timeline shows only what is measured; "" when all of
// the plan is measured, or nothing.
[[nodiscard]] QString stillPredictedText(const MeasuredPlan& plan);
// What measuring changed in the plan: "Left out, as measured: RoPE. Newly in the plan: QKV projection."; "" for
// nothing.
[[nodiscard]] QString planChangeText(const Analysis& analysis, const MeasuredPlan& plan);

} // namespace fusescope
