// SPDX-License-Identifier: GPL-3.0-or-later
// "Fuse" in the menus of other views.
#pragma once

#include "ui/fuse/region_words.h"

class QMenu;

namespace fusescope {

// An entry for each finding that the place under the mouse belongs to, at most three, one for the place as a region of
// its own, and a line below them.
void addFuseActions(QMenu& menu, Session* session, Pick under);
// "Fuse this" for a region; not without a graph, and then it says so. Nothing for nothing.
void addRegionAction(QMenu& menu, Session* session, const SelectedWork& work);

} // namespace fusescope
