// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fuse/fuse_actions.h"

#include "ui/fuse/region_words.h"
#include "ui/models/finding_model.h"

#include <QMenu>

#include <algorithm>

namespace fusescope {

void addFuseActions(QMenu& menu, Session* session, Pick under) {
    const AnalysisPtr& analysis = session->analysis();
    if (!analysis) return;
    constexpr int kMost = 3;
    int added = 0;
    const SelectionSets sets = select(*analysis, under);
    for (const std::uint32_t row : sets.findings) {
        if (row >= analysis->findings.size() || analysis->findings[row].verdict == Verdict::AlreadyFused) continue;
        if (added++ == kMost) break;
        menu.addAction(FindingModel::tr("Fuse this: %1").arg(titleOf(analysis->findings[row])), session,
                       [session, row] { session->wantFused(row); });
    }
    // The place itself, whether findings go through it or not; of several selected nodes all, where it is one of them.
    const SelectionSets& selected = session->selection();
    const bool one_of = under.kind == PickKind::Node && selected.pick.kind == PickKind::Nodes &&
                        std::binary_search(selected.nodes.begin(), selected.nodes.end(), NodeId(under.id));
    addRegionAction(menu, session, workOfPick(*analysis, one_of ? selected : sets));
    menu.addSeparator();
}

void addRegionAction(QMenu& menu, Session* session, const SelectedWork& work) {
    const AnalysisPtr& analysis = session->analysis();
    if (!analysis || work.wish.empty()) return;
    QAction* action = menu.addAction(fuseThisText(*analysis, work).replace(QLatin1Char('&'), QLatin1String("&&")),
                                     session, [session, wish = work.wish] { session->wantRegion(wish); });
    if (analysis->graph) return;
    action->setEnabled(false);
    action->setText(action->text() + FindingModel::tr(" (needs a graph)"));
}

} // namespace fusescope
