// SPDX-License-Identifier: GPL-3.0-or-later
// Roles that every item model of the window answers, and small helpers to show and copy rows.
#pragma once

#include "core/draw/draw_list.h"

#include <QAbstractItemModel>
#include <QIcon>
#include <QModelIndexList>
#include <QString>

class QAbstractItemView;

namespace fusescope {

enum ItemRole : int {
    SortRole = Qt::UserRole + 1, // a number, or text to compare without case
    PickIdRole,                  // what Session::pick takes: ModuleId, KernelId, row of ops, row of findings
    ShareRole,                   // 0..1, for the bar behind a percentage
    KindRole,                    // int of OpKind, -1 when there is none
    NoteRole,                    // muted words behind the text: a module's type
    FilterRole,                  // all that a filter looks at
};

// A small square in the kind's colour.
[[nodiscard]] QIcon kindIcon(OpKind kind, Theme theme);
// Rows as tab-separated text, with a header line when there are several. Hidden columns of the view are left out.
[[nodiscard]] QString rowsAsText(const QAbstractItemView& view);
// Ctrl+C and a context menu entry that copies the selected rows.
void addCopyAction(QAbstractItemView& view);
// Selected rows in a pale accent, so that many of them do not drown swatches and bars. Call again when the theme
// changes.
void useQuietSelection(QAbstractItemView& view, Theme theme);

} // namespace fusescope
