// SPDX-License-Identifier: GPL-3.0-or-later
// Words about regions of the user's own choice, and what of the views "Fuse this" would act on.
#pragma once

#include "core/draw/draw_list.h"
#include "core/measured/chosen_gain.h"
#include "ui/base/session.h"

#include <QString>

namespace fusescope {

struct SelectedWork {
    RegionWish wish; // empty: nothing that could be a region (a finding is one already)
    QString name;    // "mul_12", "3 nodes", "12 kernels in the range"
};
// The range marked on the timeline, else what is selected.
[[nodiscard]] SelectedWork selectedWork(const Session& session);
// "Fuse this: 3 nodes", or what a module would be measured with.
[[nodiscard]] QString fuseThisText(const Analysis& analysis, const SelectedWork& work);
// The same for little room: "Fuse 3 nodes", "Measure mlp".
[[nodiscard]] QString fuseThisShort(const Analysis& analysis, const SelectedWork& work);
[[nodiscard]] SelectedWork workOfPick(const Analysis& analysis, const SelectionSets& sets);

[[nodiscard]] QString regionBadge(const ChosenRegion& region); // "one kernel", "no fused kernel", "with the plan"
// "at most −420 µs/step" of nodes: a limit; a module's prediction.
[[nodiscard]] QString regionSavingText(const ChosenRegion& region);
[[nodiscard]] QString regionCountText(const ChosenRegion& region); // "36× · 80 kernels each"
// What was measured, in a line: "forward 10.1 ms → 2.4 ms, backward 13.6 ms → 5.1 ms"; "" without a result.
[[nodiscard]] QString regionLine(const ChosenRegion& region, const MeasuredFinding& measured);
// All of it, for the pane below the list. measured: null without a result. gain: of regionGains().
[[nodiscard]] QString regionHtml(const Analysis& analysis, const ChosenRegion& region, const MeasuredFinding* measured,
                                 const RegionGain& gain, Theme theme);
[[nodiscard]] QString regionMarkdown(const ChosenRegion& region, const MeasuredFinding* measured);

} // namespace fusescope
