// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_actions.h"

#include "ui/models/finding_model.h"

#include <QMenu>

namespace fusescope {

void addFuseActions(QMenu& menu, Session* session, Pick under) {
    const AnalysisPtr& analysis = session->analysis();
    if (!analysis) return;
    constexpr int kMost = 3;
    int added = 0;
    for (const std::uint32_t row : select(*analysis, under).findings) {
        if (row >= analysis->findings.size() || analysis->findings[row].verdict == Verdict::AlreadyFused) continue;
        if (added++ == kMost) break;
        menu.addAction(FindingModel::tr("Fuse this: %1").arg(titleOf(analysis->findings[row])), session,
                       [session, row] { session->wantFused(row); });
    }
    if (added > 0) menu.addSeparator();
}

} // namespace fusescope
