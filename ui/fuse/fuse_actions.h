// SPDX-License-Identifier: GPL-3.0-or-later
// "Fuse" in the menus of other views.
#pragma once

#include "ui/base/session.h"

class QMenu;

namespace fusescope {

// An entry for each finding that the place under the mouse belongs to, at most three, and a line below them. Nothing
// where there is none.
void addFuseActions(QMenu& menu, Session* session, Pick under);

} // namespace fusescope
